// JWK sets (RFC 7517): the public keys of an issuer. Their text comes over the network.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fl_server/oidc/verification_key.h"

namespace coterie {

inline constexpr size_t kJwkSetBytesMax = 256 * 1024;
inline constexpr size_t kJwkSetKeysMax = 64;
inline constexpr size_t kKeyIdBytesMax = 256;

struct JwkSet {
  std::vector<VerificationKey> keys;
  size_t skipped_foreign = 0;  // for something else: another kty, crv, use, key_ops or alg
  size_t skipped_malformed =
      0;  // ours by its kind, but unusable: too short, not on the curve, small order, private, twice
};

// malformed: the text is no JWK set. too_large: over a limit above. A key that cannot be used is skipped, as
// section 5 asks; a set none of whose keys can be used is a set without keys.
Result<JwkSet> parse_jwk_set(std::string_view text);

}  // namespace coterie
