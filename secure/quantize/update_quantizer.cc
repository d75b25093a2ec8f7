#include "secure/quantize/update_quantizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/assert.h"
#include "proto/messages/plan.h"
#include "proto/messages/quantized_lanes.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "secure/crypto/secret.h"
#include "secure/dp/noise/key_stream_source.h"
#include "secure/quantize/quantization_grid.h"
#include "secure/quantize/shared_rotation.h"

namespace coterie {
namespace {

constexpr size_t kTile = 1024;

// Down to a whole number, and one more with the probability of what is left, to 32 bits.
uint16_t rounded(double level, uint32_t random) {
  const auto fixed = static_cast<uint64_t>(level * 0x1p32);
  const uint64_t up = (fixed & 0xffffffffu) > random ? 1 : 0;
  return static_cast<uint16_t>((fixed >> 32) + up);
}

}  // namespace

Result<std::vector<uint16_t>> quantize(std::span<const float> values, uint32_t weight, const UpdateRules& rules,
                                       const ByteSource& signs, const ByteSource& rounding) {
  COT_ASSERT(values.size() == rules.value_count);
  const uint32_t weight_max = rules.fixed_point.weight_max;
  if (weight == 0 || weight > weight_max) {
    return Error(ErrorCode::invalid_argument,
                 "update: its weight must be in [1, " + std::to_string(weight_max) + "], is " + std::to_string(weight));
  }
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
    return Error(ErrorCode::invalid_argument, "update: has a value that is not a finite number");
  }
  std::vector<float> turned(values.begin(), values.end());
  if (rules.quantization.rotated) rotate_whole(signs, turned);
  const auto top = static_cast<double>(level_max(rules.quantization));
  // Weighed before it is rounded: behind masks the server adds levels and cannot multiply one update's.
  const double share = static_cast<double>(weight) / weight_max;
  const double levels_a_unit = top / (2 * grid_half_width(rules)) * share;
  const double middle = top / 2;
  std::vector<uint16_t> levels(turned.size());
  std::array<uint32_t, kTile> random;
  for (size_t begin = 0; begin < turned.size(); begin += kTile) {
    const size_t count = std::min(kTile, turned.size() - begin);
    rounding.write(4 * uint64_t{begin}, {reinterpret_cast<uint8_t*>(random.data()), 4 * count});
    for (size_t i = 0; i < count; ++i) {
      const double level = static_cast<double>(turned[begin + i]) * levels_a_unit + middle;
      // Rounded up with the probability of the fraction, so that a mean of many has no bias.
      levels[begin + i] = rounded(std::clamp(level, 0.0, top), random[i]);
    }
  }
  wipe({reinterpret_cast<uint8_t*>(turned.data()), turned.size() * sizeof(float)});
  wipe({reinterpret_cast<uint8_t*>(random.data()), sizeof random});
  return levels;
}

void write_weight_digits(uint32_t weight, const QuantizationRules& rules, std::span<uint16_t> digits) {
  uint64_t rest = weight;
  for (uint16_t& digit : digits) {
    digit = static_cast<uint16_t>(rest & level_max(rules));
    rest >>= rules.bits;
  }
  COT_ASSERT(rest == 0);
}

Result<KeyStreamSource> update_rounding(uint64_t training_seed) {
  std::array<uint8_t, 8> seed;
  for (size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<uint8_t>(training_seed >> (8 * i));
  const Secret<32> key = hkdf<32>({}, seed, DomainFields("coterie/v1/update-rounding").view());
  wipe(seed);
  COT_ASSIGN(KeyStream stream, KeyStream::make(CipherSuite::aes256_ctr, key));
  return KeyStreamSource(std::move(stream));
}

}  // namespace coterie
