#include "vertical/link/tls_context.h"

#include <openssl/err.h>

namespace coterie::vertical {

Error tls_error(const std::string& what) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  const std::string text = reason == nullptr ? "" : std::string(": ") + reason;
  ERR_clear_error();
  return Error(ErrorCode::invalid_argument, "link: " + what + text);
}

Result<TlsContext> make_tls_context(const SSL_METHOD* method, const TlsIdentity& identity) {
  TlsContext context(SSL_CTX_new(method));
  SSL_CTX* const ctx = context.get();
  if (ctx == nullptr) return tls_error("cannot make a TLS context");
  SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384");
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_num_tickets(ctx, 0);  // nobody comes back, and a ticket unread at close resets the connection
  // Both sides, on both ends: a party that accepts must know who came, too.
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  if (SSL_CTX_load_verify_locations(ctx, identity.ca_file.c_str(), nullptr) != 1) {
    return tls_error("cannot use the authority " + identity.ca_file);
  }
  if (SSL_CTX_use_certificate_chain_file(ctx, identity.certificate_file.c_str()) != 1) {
    return tls_error("cannot use the certificate " + identity.certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(ctx, identity.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(ctx) != 1) {
    return tls_error("cannot use the private key " + identity.key_file + " with " + identity.certificate_file);
  }
  return context;
}

}  // namespace coterie::vertical
