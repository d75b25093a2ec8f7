// Any text as an issuer's key set: an error, or keys each of which could verify something.
#include "base/assert.h"
#include "fl_server/oidc/jwks.h"
#include "fl_server/oidc/jwks_cache.h"
#include "secure/crypto/signature.h"

namespace {

using namespace coterie;

struct Check {
  void operator()(const RsaPublicKey& key) const { COT_ASSERT(rsa_key_is_valid(key)); }
  void operator()(const P256PublicKey& key) const { COT_ASSERT(public_key_is_valid(KeyAlgorithm::p256, key.point)); }
  void operator()(const Ed25519PublicKey& key) const {
    COT_ASSERT(public_key_is_valid(KeyAlgorithm::ed25519, key.bytes));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text({data, size});
  if (const auto age = max_age_of(text)) COT_ASSERT(age->count() >= 0 && *age <= kJwksRefreshMax);
  const Result<JwkSet> set = parse_jwk_set(text);
  if (!set) {
    COT_ASSERT(set.error().code() == ErrorCode::malformed || set.error().code() == ErrorCode::too_large);
    return 0;
  }
  COT_ASSERT(set->keys.size() + set->skipped_foreign + set->skipped_malformed <= kJwkSetKeysMax);
  const Bytes nothing(64, 0);
  for (const VerificationKey& key : set->keys) {
    COT_ASSERT(key.kid.size() <= kKeyIdBytesMax);
    std::visit(Check{}, key.key);
    COT_ASSERT(!key.verifies(nothing, nothing));
  }
  return 0;
}
