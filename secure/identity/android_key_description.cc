#include "secure/identity/android_key_description.h"

#include <set>

#include "secure/identity/der_reader.h"

namespace coterie {
namespace {

constexpr std::string_view kWhat = "Android key description";
constexpr uint32_t kOrigin = 702, kRootOfTrust = 704, kApplicationId = 709;  // tags of an AuthorizationList

template <typename Enum>
Result<Enum> one_of(const DerReader& reader, uint64_t value, Enum last, const std::string& name) {
  // A level or a state that is not known could be worse than all that are: it is refused, not guessed.
  if (value <= static_cast<uint64_t>(last)) return static_cast<Enum>(value);
  return reader.malformed(name + " has no meaning: " + std::to_string(value));
}

Result<AndroidRootOfTrust> read_root_of_trust(DerReader list) {
  AndroidRootOfTrust root;
  COT_ASSIGN(DerReader members, list.sequence("rootOfTrust"));
  COT_TRY(list.end());
  COT_TRY(members.octets("verifiedBootKey"));
  COT_ASSIGN(root.is_locked, members.boolean("deviceLocked"));
  COT_ASSIGN(const uint64_t state, members.enumerated("verifiedBootState"));
  COT_ASSIGN(root.boot_state, one_of(members, state, AndroidBootState::failed, "verifiedBootState"));
  if (!members.at_end()) COT_TRY(members.octets("verifiedBootHash"));  // from version 3 on
  COT_TRY(members.end());
  return root;
}

// An AttestationApplicationId, which travels as DER inside of an octet string.
Status read_application(ByteView bytes, AndroidKeyDescription& description) {
  DerReader whole(bytes, "Android application id");
  COT_ASSIGN(DerReader members, whole.sequence("application id"));
  COT_TRY(whole.end());
  COT_ASSIGN(DerReader packages, members.set("package infos"));
  while (!packages.at_end()) {
    COT_ASSIGN(DerReader package, packages.sequence("package info"));
    COT_ASSIGN(const ByteView name, package.octets("package name"));
    COT_TRY(package.integer("package version"));
    COT_TRY(package.end());
    if (description.packages.size() == kAndroidPackagesMax) return packages.malformed("it has more than 16 packages");
    description.packages.emplace_back(as_text(name));
  }
  COT_ASSIGN(DerReader digests, members.set("signature digests"));
  COT_TRY(members.end());
  while (!digests.at_end()) {
    COT_ASSIGN(const ByteView digest, digests.octets("signature digest"));
    if (description.signature_digests.size() == kAndroidDigestsMax)
      return digests.malformed("it has more than 16 digests");
    description.signature_digests.emplace_back(digest.begin(), digest.end());
  }
  return {};
}

// One AuthorizationList: of the hardware or of the software. Who says what matters: a member of the other is skipped.
Status read_authorizations(DerReader list, bool is_hardware, AndroidKeyDescription& description) {
  std::set<uint32_t> seen;
  while (!list.at_end()) {
    COT_ASSIGN(const DerElement element, list.next());
    if (element.tag_class != DerClass::context || !element.is_constructed) {
      return list.malformed("a member of an authorization list has no tag of its own");
    }
    // A second value of one tag would leave it to the reader which one counts.
    if (!seen.insert(element.tag).second)
      return list.malformed("tag " + std::to_string(element.tag) + " is there twice");
    DerReader member(element.content, kWhat);
    if (is_hardware && element.tag == kOrigin) {
      COT_ASSIGN(description.origin, member.integer("origin"));
      COT_TRY(member.end());
    } else if (is_hardware && element.tag == kRootOfTrust) {
      COT_ASSIGN(description.root_of_trust, read_root_of_trust(member));
    } else if (!is_hardware && element.tag == kApplicationId) {
      COT_ASSIGN(const ByteView application, member.octets("attestationApplicationId"));
      COT_TRY(member.end());
      COT_TRY(read_application(application, description));
    }
  }
  return {};
}

}  // namespace

Result<AndroidKeyDescription> read_android_key_description(ByteView extension) {
  if (extension.size() > kAndroidDescriptionBytesMax) {
    return Error(ErrorCode::too_large, std::string(kWhat) + ": has " + std::to_string(extension.size()) +
                                           " bytes, at most " + std::to_string(kAndroidDescriptionBytesMax) +
                                           " are read");
  }
  AndroidKeyDescription description;
  DerReader whole(extension, kWhat);
  COT_ASSIGN(DerReader members, whole.sequence("KeyDescription"));
  COT_TRY(whole.end());
  COT_ASSIGN(description.version, members.integer("attestationVersion"));
  COT_ASSIGN(const uint64_t attestation, members.enumerated("attestationSecurityLevel"));
  COT_ASSIGN(description.attestation_level,
             one_of(members, attestation, AndroidSecurityLevel::strong_box, "attestationSecurityLevel"));
  COT_TRY(members.integer("keymasterVersion"));
  COT_ASSIGN(const uint64_t key, members.enumerated("keymasterSecurityLevel"));
  COT_ASSIGN(description.key_level, one_of(members, key, AndroidSecurityLevel::strong_box, "keymasterSecurityLevel"));
  COT_ASSIGN(const ByteView challenge, members.octets("attestationChallenge"));
  description.challenge.assign(challenge.begin(), challenge.end());
  COT_TRY(members.octets("uniqueId"));
  COT_ASSIGN(const DerReader software, members.sequence("softwareEnforced"));
  COT_ASSIGN(const DerReader hardware, members.sequence("hardwareEnforced"));
  COT_TRY(members.end());
  // By who says it: an origin that software vouches for is what a rooted phone would write there.
  COT_TRY(read_authorizations(software, false, description));
  COT_TRY(read_authorizations(hardware, true, description));
  return description;
}

}  // namespace coterie
