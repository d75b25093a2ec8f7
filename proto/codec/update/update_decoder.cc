#include "proto/codec/update/update_decoder.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "proto/codec/codec.h"

namespace coterie {
namespace {

uint64_t float32_bytes(uint64_t value_count) { return value_count * sizeof(float); }

Result<std::span<const float>> float32_values(ByteView payload, uint64_t value_count, std::vector<float>&) {
  if (payload.size() != float32_bytes(value_count)) {
    return Error(ErrorCode::malformed, "update: " + std::to_string(value_count) + " float32 need " +
                                           std::to_string(float32_bytes(value_count)) + " bytes, the payload has " +
                                           std::to_string(payload.size()));
  }
  return payload_as<float>(payload);
}

// What a coordinate means differs, how it lies in the payload does not.
constexpr UpdateDecoder kDecoders[] = {
    {UpdateEncoding::float32, float32_bytes, float32_values},
    {UpdateEncoding::float32_pooled, float32_bytes, float32_values},
};

}  // namespace

const UpdateDecoder& update_decoder(UpdateEncoding encoding) {
  const auto* found = std::ranges::find(kDecoders, encoding, &UpdateDecoder::encoding);
  COT_ASSERT(found != std::end(kDecoders));
  return *found;
}

}  // namespace coterie
