#include "secure/identity/manifest.h"

#include "secure/identity/signing_keys.h"

namespace coterie {

std::string manifest_text(const Assignment& assignment) {
  std::string text = "coterie-manifest-1";
  for (const std::string& field :
       {assignment.job.value(), std::to_string(assignment.round.round.value()),
        std::to_string(assignment.round.attempt.value()), std::to_string(assignment.model_version.value()),
        assignment.plan.hex(), std::to_string(assignment.plan_bytes), assignment.model.hex(),
        std::to_string(assignment.model_bytes), std::to_string(unix_ms(assignment.not_after))}) {
    text += '\n';
    text += field;
  }
  return text;
}

Status sign_manifest(Assignment& assignment, const Signer& signer) {
  COT_ASSIGN(assignment.signature, signer.sign(as_bytes(manifest_text(assignment))));
  return {};
}

Status verify_manifest(const Assignment& assignment, const PinnedKeys& keys, WallTime now) {
  const std::string text = manifest_text(assignment);
  for (const ByteView key : believed_keys(keys, now)) {
    if (signature_is_valid(KeyAlgorithm::ed25519, key, as_bytes(text), assignment.signature)) return {};
  }
  return Error(ErrorCode::refused, "assignment: not signed by the server this device enrolled with");
}

}  // namespace coterie
