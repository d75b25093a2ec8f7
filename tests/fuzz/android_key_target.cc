// Any bytes as the extension of Android's key attestation: an error, or a description within its bounds.
#include "base/assert.h"
#include "secure/identity/android_key_description.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  const auto description = read_android_key_description({data, size});
  if (!description) {
    COT_ASSERT(!description.error().message().empty());
    return 0;
  }
  COT_ASSERT(size <= kAndroidDescriptionBytesMax && description->challenge.size() < size);
  COT_ASSERT(description->attestation_level <= AndroidSecurityLevel::strong_box);
  COT_ASSERT(description->key_level <= AndroidSecurityLevel::strong_box);
  COT_ASSERT(!description->root_of_trust || description->root_of_trust->boot_state <= AndroidBootState::failed);
  COT_ASSERT(description->packages.size() <= kAndroidPackagesMax);
  COT_ASSERT(description->signature_digests.size() <= kAndroidDigestsMax);
  return 0;
}
