#include "secure/dp/encode/sum_decoder.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "proto/ring/ring_vector.h"
#include "secure/dp/encode/rotation.h"

namespace coterie {
namespace {

constexpr size_t kTile = 1024;

uint64_t sign_extended(uint64_t lane, uint32_t ring_bits) {
  const uint32_t above = 64 - ring_bits;
  return static_cast<uint64_t>(static_cast<int64_t>(lane << above) >> above);
}

template <typename Lane>
Result<uint64_t> decode(std::span<const Lane> lanes, const EncodingTerms& spec, const ByteSource* rotation_signs,
                        std::span<float> mean) {
  COT_ASSERT(lanes.size() == encoded_lanes(spec, mean.size()) && 8 * sizeof(Lane) == lane_bits(spec));
  COT_ASSERT(!spec.rotated || rotation_signs != nullptr);
  // Before anything else: a sum that was not unmasked right has a random weight, and almost never a possible one.
  const uint64_t weight = sign_extended(lanes.back(), spec.ring_bits);
  const uint64_t weight_max = uint64_t{spec.contributors_max} * spec.weight_max;
  if (weight == 0 || weight > weight_max) {
    return Error(ErrorCode::malformed, "sum: its weight must be in [1, " + std::to_string(weight_max) + "], is " +
                                           std::to_string(static_cast<int64_t>(weight)) +
                                           "; masks are left in it, or it was encoded by another plan");
  }

  // decode_mean wants lanes of 64 bits, and of its spec the grid alone.
  const FixedPointSpec grid{.fraction_bits = spec.fraction_bits};
  std::vector<float> values(lanes.size() - 1);
  std::array<uint64_t, kTile> wide;
  for (size_t begin = 0; begin < values.size(); begin += kTile) {
    const size_t count = std::min(kTile, values.size() - begin);
    for (size_t i = 0; i < count; ++i) wide[i] = sign_extended(lanes[begin + i], spec.ring_bits);
    decode_mean(std::span(wide).first(count), weight, grid, std::span(values).subspan(begin, count));
  }
  if (spec.rotated) rotate_back(*rotation_signs, values);
  std::copy_n(values.begin(), mean.size(), mean.begin());
  return weight;
}

}  // namespace

Result<uint64_t> decode_sum(std::span<const uint16_t> lanes, const EncodingTerms& spec,
                            const ByteSource* rotation_signs, std::span<float> mean) {
  return decode(lanes, spec, rotation_signs, mean);
}
Result<uint64_t> decode_sum(std::span<const uint32_t> lanes, const EncodingTerms& spec,
                            const ByteSource* rotation_signs, std::span<float> mean) {
  return decode(lanes, spec, rotation_signs, mean);
}
Result<uint64_t> decode_sum(std::span<const uint64_t> lanes, const EncodingTerms& spec,
                            const ByteSource* rotation_signs, std::span<float> mean) {
  return decode(lanes, spec, rotation_signs, mean);
}

}  // namespace coterie
