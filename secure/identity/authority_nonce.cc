#include "secure/identity/authority_nonce.h"

#include <algorithm>
#include <string>

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"
#include "secure/identity/signed_seconds.h"

namespace coterie {
namespace {

constexpr size_t kNumberBytes = 8, kClaimsBytes = 2 * kNumberBytes;

void put(Bytes& bytes, uint64_t number) {
  for (size_t i = kNumberBytes; i-- > 0;) bytes.push_back(static_cast<uint8_t>(number >> 8 * i));
}

Result<Bytes> with_tag(Bytes claims, const Signer& authority) {
  DomainFields fields("coterie/v1/authority-nonce");
  fields.add(claims);
  COT_ASSIGN(const Bytes signature, authority.sign(fields.view()));
  // The nonce carries its own proof, so that an authority keeps no list of those it gave. It has room for the head of a
  // hash of the signature, which nobody can make without the signature.
  const Digest tag = sha256(signature);
  claims.insert(claims.end(), tag.bytes.begin(), tag.bytes.begin() + (kAttestationNonceBytes - kClaimsBytes));
  return claims;
}

}  // namespace

Result<Bytes> make_authority_nonce(WallTime now, uint64_t random, const Signer& authority) {
  if (authority.algorithm() != KeyAlgorithm::ed25519) {
    return Error(ErrorCode::invalid_argument, "nonce: the authority's key must be Ed25519");
  }
  Bytes claims;
  put(claims, signed_seconds(now));
  put(claims, random);
  return with_tag(std::move(claims), authority);
}

Status check_authority_nonce(ByteView nonce, WallTime now, const Signer& authority) {
  const auto denied = [](const std::string& why) { return Error(ErrorCode::permission_denied, "nonce: " + why); };
  if (nonce.size() != kAttestationNonceBytes) return denied("an authority's has 32 bytes");
  const ByteView claims = nonce.first(kClaimsBytes);
  COT_ASSIGN(const Bytes ours, with_tag(Bytes(claims.begin(), claims.end()), authority));
  if (!std::ranges::equal(ours, nonce)) return denied("it is not this authority's");
  uint64_t seconds = 0;
  for (const uint8_t byte : claims.first(kNumberBytes)) seconds = seconds << 8 | byte;
  const WallTime made = time_of_seconds(std::min(seconds, kSignedSecondsMax));
  if (made > now + kAuthorityNonceAgeMax) return denied("it was made in the future: set the authority's clock");
  if (now - made <= kAuthorityNonceAgeMax) return {};
  return denied("it was made more than " +
                std::to_string(std::chrono::duration_cast<std::chrono::minutes>(kAuthorityNonceAgeMax).count()) +
                " minutes ago: get a fresh one");
}

}  // namespace coterie
