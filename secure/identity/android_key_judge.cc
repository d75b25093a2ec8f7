#include "secure/identity/android_key_judge.h"

#include <algorithm>

#include "secure/crypto/x509_chain.h"
#include "secure/identity/certificate_request.h"

namespace coterie {
namespace {

constexpr const char* kExtensionOid = "1.3.6.1.4.1.11129.2.1.17";
constexpr uint64_t kMadeInside = 0;

Error denied(const std::string& why) { return Error(ErrorCode::permission_denied, "android-key attestation: " + why); }

std::string_view name_of(AndroidSecurityLevel level) {
  switch (level) {
    case AndroidSecurityLevel::software: return "software";
    case AndroidSecurityLevel::trusted_environment: return "trusted environment";
    case AndroidSecurityLevel::strong_box: return "StrongBox";
  }
  return "unknown";
}

// Whether all that is there is expected, and something is: one app of several under one user id speaks for none.
template <typename T>
bool all_are_among(const std::vector<T>& seen, const std::vector<T>& expected) {
  return !seen.empty() &&
         std::ranges::all_of(seen, [&](const T& one) { return std::ranges::count(expected, one) > 0; });
}

}  // namespace

Status AndroidKeyJudge::judge(const CertificateRequest& request, WallTime now) const {
  if (request.identity.key_algorithm != KeyAlgorithm::p256) return denied("the device's key must be of P-256");
  COT_ASSIGN(const VerifiedLeaf leaf,
             verify_x509_chain(request.attestation.blob, {.roots_pem = policy_.roots_pem,
                                                          .now = now,
                                                          .revoked_serials = policy_.revoked_serials,
                                                          .extension_oid = kExtensionOid}));
  // A true attestation of somebody else's key must not certify this one.
  if (leaf.public_key != request.identity.public_key) return denied("it is of another key than the request's");
  COT_ASSIGN(const AndroidKeyDescription description, read_android_key_description(leaf.extension));
  return judge_description(description, request.attestation.nonce);
}

Status AndroidKeyJudge::judge_description(const AndroidKeyDescription& description, ByteView nonce) const {
  if (!std::ranges::equal(description.challenge, nonce)) return denied("its challenge is not the nonce");
  const AndroidSecurityLevel asked = std::max(policy_.level_min, AndroidSecurityLevel::trusted_environment);
  // Hardware may attest a key that lives in software, and the other way round: the weaker of the two counts.
  const AndroidSecurityLevel least = std::min(description.attestation_level, description.key_level);
  if (least < asked) {
    return denied("it is of security level " + std::string(name_of(least)) + ", at least " +
                  std::string(name_of(asked)) + " is asked for");
  }
  if (description.origin != kMadeInside) return denied("the hardware does not say that it made the key itself");
  if (policy_.needs_verified_boot) {
    const auto& root = description.root_of_trust;
    if (!root || !root->is_locked) return denied("the hardware does not say that the device is locked");
    if (root->boot_state != AndroidBootState::verified) {
      return denied("the device was started with software that its maker has not signed");
    }
  }
  if (!policy_.packages.empty() && !all_are_among(description.packages, policy_.packages)) {
    return denied("it is of another app");
  }
  if (!policy_.signature_digests.empty() && !all_are_among(description.signature_digests, policy_.signature_digests)) {
    return denied("the app is signed by somebody else");
  }
  return {};
}

}  // namespace coterie
