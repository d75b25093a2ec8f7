// X.509 chains of others: whether they lead to roots that the caller names, and what their first certificate holds. The
// path is libcrypto's to validate (RFC 5280 section 6); nothing here knows what a certificate is for.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

inline constexpr size_t kChainCertificatesMax = 8;

struct ChainTerms {
  std::string roots_pem;  // one or more: who may have signed the chain's last one
  WallTime now;
  // Serial numbers in lower-case hexadecimal without leading zeros. No certificate of the chain may have one of these.
  std::vector<std::string> revoked_serials;
  std::string extension_oid;  // that the first certificate has, and no other one
};

struct VerifiedLeaf {
  Bytes public_key;  // a P-256 point, uncompressed
  Bytes extension;   // the octets of that extension
};

// `chain`: certificates as DER, one behind the other, each signed by the next; the last may be a root.
// invalid_argument: the roots cannot be read. malformed: not certificates. permission_denied: anything else, by name:
// no path to a root, not valid now, revoked, no P-256 key, no such extension or in another certificate, an issuer that
// is no authority.
Result<VerifiedLeaf> verify_x509_chain(ByteView chain, const ChainTerms& terms);

}  // namespace coterie
