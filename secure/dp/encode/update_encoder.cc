#include "secure/dp/encode/update_encoder.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "secure/crypto/secret.h"
#include "secure/dp/encode/conditional_rounding.h"
#include "secure/dp/encode/l2_norm.h"
#include "secure/dp/encode/rotation.h"

namespace coterie {
namespace {

// What is cut off every norm limit, so that the rounding of a norm to double can never let one step over it.
constexpr double kNormMargin = 1 - 0x1p-40;

template <typename Item>
void wipe_items(std::span<Item> items) {
  wipe({reinterpret_cast<uint8_t*>(items.data()), items.size_bytes()});
}

template <typename Lane>
Result<EncodedUpdate> encode(std::span<const float> update, uint32_t weight, const EncodingTerms& spec,
                             const EncodingInputs& inputs, std::span<Lane> lanes) {
  COT_ASSERT(lanes.size() == encoded_lanes(spec, update.size()) && 8 * sizeof(Lane) == lane_bits(spec));
  COT_ASSERT(!spec.rotated || inputs.rotation_signs != nullptr);
  COT_ASSERT(inputs.sampler == nullptr || inputs.noise != nullptr);
  if (weight == 0 || weight > spec.weight_max) {
    return Error(ErrorCode::invalid_argument, "update: its weight must be in [1, " + std::to_string(spec.weight_max) +
                                                  "], is " + std::to_string(weight));
  }
  if (inputs.sampler != nullptr && spec.weight_max != 1) {
    return Error(ErrorCode::invalid_argument, "encoding: with noise weight_max must be 1, is " +
                                                  std::to_string(spec.weight_max) + "; a weight would not be private");
  }
  COT_ASSIGN(const double norm, l2_norm(update));
  const bool clipped = norm > spec.clip_norm;

  // Clipped first, so that nothing overflows in the rotation; then to the limit once more, as it rounds.
  std::vector<float> values(encoded_coordinates(spec, update.size()));
  const double clip = clipped ? spec.clip_norm / norm : 1;
  for (size_t i = 0; i < update.size(); ++i) values[i] = static_cast<float>(update[i] * clip);
  if (spec.rotated) rotate(*inputs.rotation_signs, values);
  COT_ASSIGN(const double norm_now, l2_norm(values));
  const double limit = spec.clip_norm * kNormMargin;
  const double factor =
      std::ldexp(weight * (norm_now > limit ? limit / norm_now : 1), static_cast<int>(spec.fraction_bits));
  std::vector<int32_t> rounded(values.size());
  round_conditionally(inputs.rounding, values, factor, sensitivity_squared(spec, update.size()), rounded);

  for (size_t i = 0; i < rounded.size(); ++i) lanes[i] = static_cast<Lane>(static_cast<int64_t>(rounded[i]));
  lanes.back() = static_cast<Lane>(weight);
  // All but the last lane: the weight is 1 with noise, and so only says that the device is there.
  if (inputs.sampler != nullptr) inputs.sampler->add_to(*inputs.noise, 0, lanes.first(rounded.size()));
  const auto ring = static_cast<Lane>(~uint64_t{0} >> (64 - spec.ring_bits));
  for (Lane& lane : lanes) lane &= ring;
  wipe_items(std::span(values));
  wipe_items(std::span(rounded));
  return EncodedUpdate{.clipped = clipped};
}

}  // namespace

Result<EncodedUpdate> encode_update(std::span<const float> update, uint32_t weight, const EncodingTerms& spec,
                                    const EncodingInputs& inputs, std::span<uint16_t> lanes) {
  return encode(update, weight, spec, inputs, lanes);
}
Result<EncodedUpdate> encode_update(std::span<const float> update, uint32_t weight, const EncodingTerms& spec,
                                    const EncodingInputs& inputs, std::span<uint32_t> lanes) {
  return encode(update, weight, spec, inputs, lanes);
}
Result<EncodedUpdate> encode_update(std::span<const float> update, uint32_t weight, const EncodingTerms& spec,
                                    const EncodingInputs& inputs, std::span<uint64_t> lanes) {
  return encode(update, weight, spec, inputs, lanes);
}

}  // namespace coterie
