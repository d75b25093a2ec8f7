// A development certificate authority: what makes TLS work on the first run, before an operator brings certificates.
//
// P-256 keys, X.509 v3, PEM. The CA can sign nothing but leaf certificates (pathLen 0).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace coterie {

struct PemPair {
  std::string certificate;
  std::string private_key;
};

// A new self-signed CA, valid for `days` from `now`.
Result<PemPair> make_dev_ca(WallTime now, int days);

// A server certificate of that CA for these DNS names and IP addresses (at least one; IPs are recognised by form).
Result<PemPair> make_server_certificate(const PemPair& ca, const std::vector<std::string>& names, WallTime now,
                                        int days);

// The same for those who show it on both sides of a connection.
Result<PemPair> make_peer_certificate(const PemPair& ca, const std::vector<std::string>& names, WallTime now, int days);

// The end of the validity of the first certificate in `pem`.
Result<WallTime> certificate_not_after(const std::string& pem);

}  // namespace coterie
