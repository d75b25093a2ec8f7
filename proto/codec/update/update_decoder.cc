#include "proto/codec/update/update_decoder.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "proto/codec/codec.h"
#include "proto/codec/update/bit_packing.h"
#include "proto/codec/update/sparse_values.h"
#include "proto/messages/quantized_lanes.h"

namespace coterie {
namespace {

uint64_t float32_bytes(const UpdateRules& rules) { return rules.value_count * sizeof(float); }

Result<std::span<const float>> float32_values(const UpdateHeader&, ByteView payload, const UpdateRules& rules,
                                              std::vector<float>&) {
  if (payload.size() != float32_bytes(rules)) {
    return Error(ErrorCode::malformed, "update: " + std::to_string(rules.value_count) + " float32 need " +
                                           std::to_string(float32_bytes(rules)) + " bytes, the payload has " +
                                           std::to_string(payload.size()));
  }
  return payload_as<float>(payload);
}

uint64_t quantized_bytes(const UpdateRules& rules) {
  return packed_bytes(rules.value_count, rules.quantization.bits).value();  // both are limited by validate(plan)
}

// A level of `bits` bits cannot be out of range.
Result<std::span<const float>> quantized_levels(const UpdateHeader&, ByteView payload, const UpdateRules& rules,
                                                std::vector<float>& memory) {
  if (payload.size() != quantized_bytes(rules)) {
    return Error(ErrorCode::malformed, "update: " + std::to_string(rules.value_count) + " levels of " +
                                           std::to_string(rules.quantization.bits) + " bits need " +
                                           std::to_string(quantized_bytes(rules)) + " bytes, the payload has " +
                                           std::to_string(payload.size()));
  }
  memory.resize(rules.value_count);
  COT_TRY(unpack_bits(payload, rules.quantization.bits, std::span(memory)));
  return std::span<const float>(memory);
}

SparseShape shape_of(const UpdateRules& rules) {
  return {.value_count = rules.value_count, .sent_count = rules.top_k.sent_count, .bits = rules.top_k.bits};
}

uint64_t top_k_bytes(const UpdateRules& rules) {
  return sparse_bytes(shape_of(rules)).value();  // validate(plan) has the same limits
}

Result<std::span<const float>> top_k_values(const UpdateHeader& header, ByteView payload, const UpdateRules& rules,
                                            std::vector<float>& memory) {
  memory.resize(rules.value_count);
  COT_TRY(unpack_sparse(payload, shape_of(rules), header.scale, memory));
  return std::span<const float>(memory);
}

// What a coordinate means differs, how it lies in the payload does not.
constexpr UpdateDecoder kDecoders[] = {
    {UpdateEncoding::float32, float32_bytes, float32_values},
    {UpdateEncoding::float32_pooled, float32_bytes, float32_values},
    {UpdateEncoding::quantized, quantized_bytes, quantized_levels},
    {UpdateEncoding::float32_clip_bit, float32_bytes, float32_values},
    {UpdateEncoding::top_k, top_k_bytes, top_k_values},
    {UpdateEncoding::eden, quantized_bytes, quantized_levels},
};

}  // namespace

const UpdateDecoder& update_decoder(UpdateEncoding encoding) {
  const auto* found = std::ranges::find(kDecoders, encoding, &UpdateDecoder::encoding);
  COT_ASSERT(found != std::end(kDecoders));
  return *found;
}

FixedPointSpec summed_as(const UpdateRules& rules) {
  if (rules.encoding != UpdateEncoding::quantized) return rules.fixed_point;
  return {.fraction_bits = 0,
          .value_abs_max = static_cast<float>(level_max(rules.quantization)),
          .weight_max = 1,
          .contributors_max = rules.fixed_point.contributors_max};
}

uint32_t summed_weight(const UpdateRules& rules, uint32_t weight) {
  return rules.encoding == UpdateEncoding::quantized ? 1 : weight;
}

}  // namespace coterie
