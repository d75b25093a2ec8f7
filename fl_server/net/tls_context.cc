#include "fl_server/net/tls_context.h"

#include <openssl/err.h>

namespace coterie {
namespace {

Error tls_error(const std::string& what) {
  char text[256] = "unknown reason";
  const unsigned long code = ERR_peek_last_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return Error(ErrorCode::invalid_argument, what + ": " + text);
}

}  // namespace

Result<TlsContext> make_server_tls(const std::string& certificate_file, const std::string& key_file) {
  TlsContext context(SSL_CTX_new(TLS_server_method()), FreeSslContext{});
  SSL_CTX* const ctx = context.get();
  if (ctx == nullptr) return tls_error("cannot make a TLS context");
  SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384");
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // One receive call for several records: an upload is 16 KiB records, and the calls cost as much as the decryption.
  SSL_CTX_set_read_ahead(ctx, 1);
  SSL_CTX_set_default_read_buffer_len(ctx, 64 * 1024);
  // Devices reconnect after training: a ticket saves them and us the certificate's signature. Two per handshake, the
  // default, would be one more than a sequential client can use.
  SSL_CTX_set_num_tickets(ctx, 1);
  if (SSL_CTX_use_certificate_chain_file(ctx, certificate_file.c_str()) != 1) {
    return tls_error("cannot use the certificate " + certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(ctx, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return tls_error("cannot use the private key " + key_file);
  }
  if (SSL_CTX_check_private_key(ctx) != 1) {
    return tls_error("the private key " + key_file + " does not belong to the certificate " + certificate_file);
  }
  return context;
}

Result<TlsContext> make_peer_tls(const std::string& certificate_file, const std::string& key_file,
                                 const std::string& ca_file) {
  COT_ASSIGN(TlsContext context, make_server_tls(certificate_file, key_file));
  if (SSL_CTX_load_verify_locations(context.get(), ca_file.c_str(), nullptr) != 1) {
    return tls_error("cannot use the authority " + ca_file);
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // A resumed session of a client with a certificate needs a context of its own.
  constexpr unsigned char kSessionContext[] = "coterie peer";
  SSL_CTX_set_session_id_context(context.get(), kSessionContext, sizeof kSessionContext - 1);
  return context;
}

}  // namespace coterie
