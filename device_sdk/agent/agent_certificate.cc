// The certificate that says which population a device is of: when it is due, what is asked for, and what came.
#include "device_sdk/agent/agent.h"

namespace coterie {
namespace {

Error not_enrolled() {
  return Error(ErrorCode::conflict,
               "certificate: the device is not enrolled yet, and its population says for which it is");
}

}  // namespace

bool Agent::certificate_is_due() const {
  return is_enrolled() && certificates_.is_due(machine_.state().population, clocks());
}

Result<Digest> Agent::attestation_hash(ByteView nonce) const {
  if (!is_enrolled()) return not_enrolled();
  return coterie::attestation_hash(nonce, machine_.state().population, signer_->algorithm(), signer_->public_key());
}

Result<Bytes> Agent::certificate_request(Attestation attestation) const {
  if (!is_enrolled()) return not_enrolled();
  return certificates_.request(machine_.state().population, std::move(attestation));
}

Status Agent::take_certificate(Bytes certificate) {
  if (!is_enrolled()) return not_enrolled();
  return certificates_.take(std::move(certificate), machine_.state().population);
}

}  // namespace coterie
