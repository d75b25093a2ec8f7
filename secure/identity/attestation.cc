#include "secure/identity/attestation.h"

#include <string>

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"

namespace coterie {

std::string_view to_string(AttestationFormat format) {
  switch (format) {
    case AttestationFormat::none: return "none";
    case AttestationFormat::android_key: return "android-key";
    case AttestationFormat::play_integrity: return "play-integrity";
    case AttestationFormat::app_attest: return "app-attest";
    case AttestationFormat::opaque: return "opaque";
  }
  return "unknown";
}

Status validate(const Attestation& attestation) {
  const auto bad = [](const std::string& what) { return Error(ErrorCode::invalid_argument, "attestation: " + what); };
  if (attestation.format > AttestationFormat::opaque) return bad("no format has this number");
  if (attestation.format == AttestationFormat::none) {
    if (attestation.nonce.empty() && attestation.blob.empty()) return {};
    return bad("there is a nonce or a blob, and no format says what it is");
  }
  if (attestation.nonce.size() != kAttestationNonceBytes) {
    return bad("its nonce has " + std::to_string(attestation.nonce.size()) + " bytes, an authority's has " +
               std::to_string(kAttestationNonceBytes));
  }
  if (!attestation.blob.empty() && attestation.blob.size() <= kAttestationBytesMax) return {};
  return bad("it has " + std::to_string(attestation.blob.size()) + " bytes, it must have 1 to " +
             std::to_string(kAttestationBytesMax));
}

Digest attestation_hash(ByteView nonce, const Population& population, KeyAlgorithm algorithm, ByteView public_key) {
  DomainFields fields("coterie/v1/attestation");
  fields.add(nonce).add(std::string_view(population.value())).add(static_cast<uint64_t>(algorithm)).add(public_key);
  return sha256(fields.view());
}

}  // namespace coterie
