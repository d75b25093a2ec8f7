// The server side of TLS: 1.3 only, AES-128-GCM first (the fastest AEAD with AES instructions), ChaCha20 next.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace coterie {

struct FreeSslContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::shared_ptr<SSL_CTX>;

// `certificate_file`: PEM chain, leaf first; `key_file`: PEM private key. The error names the file that is wrong.
Result<TlsContext> make_server_tls(const std::string& certificate_file, const std::string& key_file);

// For the plane on which servers talk to each other: as make_server_tls, and whoever connects must show a certificate
// of an authority in `ca_file`.
Result<TlsContext> make_peer_tls(const std::string& certificate_file, const std::string& key_file,
                                 const std::string& ca_file);

}  // namespace coterie
