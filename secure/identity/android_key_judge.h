// AndroidKeyJudge: whether Android's key attestation shows that a device's key was made in secure hardware of a device
// whose software is whole, by the app that is expected. What Google says of keys that were stolen from devices (its
// list of revoked serials) is the caller's to fetch.
#pragma once

#include <string>
#include <vector>

#include "secure/identity/android_key_description.h"
#include "secure/identity/attestation.h"

namespace coterie {

struct AndroidKeyPolicy {
  std::string roots_pem;                     // of the platform: Google publishes its own
  std::vector<std::string> revoked_serials;  // as ChainTerms has them
  AndroidSecurityLevel level_min = AndroidSecurityLevel::trusted_environment;  // software is never enough
  bool needs_verified_boot = true;       // locked, and started with software that its maker signed
  std::vector<std::string> packages;     // the app's names; empty: any app
  std::vector<Bytes> signature_digests;  // SHA-256 of who signs the app; empty: anybody
};

class AndroidKeyJudge final : public AttestationJudge {
 public:
  explicit AndroidKeyJudge(AndroidKeyPolicy policy) : policy_(std::move(policy)) {}

  AttestationFormat format() const override { return AttestationFormat::android_key; }
  // The chain leads to a root; the attested key is the request's, of P-256; the nonce is the challenge; and the
  // description is what the policy asks for.
  Status judge(const CertificateRequest& request, WallTime now) const override;

 private:
  Status judge_description(const AndroidKeyDescription& description, ByteView nonce) const;

  AndroidKeyPolicy policy_;
};

}  // namespace coterie
