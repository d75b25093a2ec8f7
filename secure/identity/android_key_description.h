// What Android's key attestation says of a key: the parts of its certificate extension that an authority judges by.
//
// Source: source.android.com, "Key and ID attestation", section "Attestation extension" (the ASN.1 of KeyDescription);
// extension 1.3.6.1.4.1.11129.2.1.17. Members that are not read are skipped, as each version has more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

inline constexpr size_t kAndroidDescriptionBytesMax = 16 * 1024;
inline constexpr size_t kAndroidPackagesMax = 16, kAndroidDigestsMax = 16;

enum class AndroidSecurityLevel : uint8_t { software = 0, trusted_environment = 1, strong_box = 2 };
enum class AndroidBootState : uint8_t { verified = 0, self_signed = 1, unverified = 2, failed = 3 };

struct AndroidRootOfTrust {
  bool is_locked = false;
  AndroidBootState boot_state = AndroidBootState::failed;
};

struct AndroidKeyDescription {
  uint64_t version = 0;
  AndroidSecurityLevel attestation_level = AndroidSecurityLevel::software;  // of whoever says all this
  AndroidSecurityLevel key_level = AndroidSecurityLevel::software;          // of where the key is
  Bytes challenge;
  // What the hardware enforces, not the software that may have been replaced; nothing if it does not say.
  std::optional<uint64_t> origin;  // 0: made there; others came in from outside
  std::optional<AndroidRootOfTrust> root_of_trust;
  // The app, as the platform's software says it: that is as good as the verified boot of that software.
  std::vector<std::string> packages;
  std::vector<Bytes> signature_digests;  // SHA-256 of the certificates that the app is signed with
};

// malformed, too_large.
Result<AndroidKeyDescription> read_android_key_description(ByteView extension);

}  // namespace coterie
