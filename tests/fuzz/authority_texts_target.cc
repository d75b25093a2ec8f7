// Any bytes as what an authority reads and signs: requests, certificates, lists. Without its key they are errors; with
// no signature to check, what is read fits its bounds.
#include <algorithm>

#include "base/assert.h"
#include "proto/messages/secagg.h"
#include "secure/crypto/field_reader.h"
#include "secure/identity/certificate_request.h"
#include "secure/identity/device_certificate.h"
#include "secure/identity/revocation_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  const Bytes bytes(data, data + size);
  const Bytes authority(kAuthorityKeyBytes, 7);  // no key that anybody has
  const auto certificate = read_device_certificate({KeyAlgorithm::ed25519, Bytes(32, 8), bytes}, authority);
  COT_ASSERT(!certificate && certificate.error().code() == ErrorCode::unauthenticated);
  COT_ASSERT(!read_revocation_list(bytes, authority));
  // A request is signed by a key that is in it: the fuzzer may have been given a good one.
  if (const auto request = read_certificate_request(bytes)) {
    COT_ASSERT(validate(request->attestation));
    COT_ASSERT(!request->population.value().empty());
  }
  // A list of fields that is read as it is written is the same bytes again.
  FieldReader reader(bytes, "fields");
  Bytes again;
  while (const auto field = reader.bytes("field", 0, size)) {
    const Bytes written = [&] {
      Bytes text;
      for (size_t i = 4; i-- > 0;) text.push_back(static_cast<uint8_t>(field->size() >> 8 * i));
      text.insert(text.end(), field->begin(), field->end());
      return text;
    }();
    again.insert(again.end(), written.begin(), written.end());
  }
  COT_ASSERT(std::equal(again.begin(), again.end(), bytes.begin()));
  return 0;
}
