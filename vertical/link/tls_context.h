// TlsContext: what all connections of vertical jobs have in common: TLS 1.3, a certificate at both ends, no tickets.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "vertical/link/tls_link.h"

namespace coterie::vertical {

struct FreeTlsContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTlsContext>;

// invalid_argument with `what` and OpenSSL's reason, whose queue of errors is empty afterwards.
Error tls_error(const std::string& what);

// Made of the identity's files; its peer_name is a connection's. invalid_argument names the file that cannot be used.
Result<TlsContext> make_tls_context(const SSL_METHOD* method, const TlsIdentity& identity);

}  // namespace coterie::vertical
