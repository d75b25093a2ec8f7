#include "proto/ring/ring_vector.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "base/cpu.h"

namespace coterie {
namespace {

// Adding 1.5 * 2^52 to a double below 2^51 in magnitude leaves its nearest integer (ties to even, the default rounding
// mode) in the low mantissa bits: the cheapest float-to-int64 there is on every ISA, and exact.
constexpr double kMagic = 0x1.8p52;
constexpr uint64_t kMagicBits = std::bit_cast<uint64_t>(kMagic);

// Values are checked as they are added; a tile is small enough to stay in L1 if it must be undone.
constexpr size_t kTile = 4096;

enum class Direction { add, subtract };

template <Direction kDirection>
[[gnu::always_inline]] inline bool add_tile(const float* values, size_t count, double scale, float abs_max,
                                            uint64_t* lanes) {
  uint32_t bad = 0;
  for (size_t i = 0; i < count; ++i) {
    const float value = values[i];
    bad |= static_cast<uint32_t>(!(std::fabs(value) <= abs_max));  // true for NaN, too
    const double lane = static_cast<double>(value) * scale + kMagic;
    const uint64_t bits = std::bit_cast<uint64_t>(lane) - kMagicBits;
    lanes[i] = kDirection == Direction::add ? lanes[i] + bits : lanes[i] - bits;
  }
  return bad == 0;
}

using AddTile = bool (*)(const float*, size_t, double, float, uint64_t*);

template <Direction kDirection>
bool add_tile_baseline(const float* values, size_t count, double scale, float abs_max, uint64_t* lanes) {
  return add_tile<kDirection>(values, count, scale, abs_max, lanes);
}
#if COT_HAS_X86_TARGETS
template <Direction kDirection>
COT_TARGET_AVX2 bool add_tile_avx2(const float* values, size_t count, double scale, float abs_max, uint64_t* lanes) {
  return add_tile<kDirection>(values, count, scale, abs_max, lanes);
}
template <Direction kDirection>
COT_TARGET_AVX512 bool add_tile_avx512(const float* values, size_t count, double scale, float abs_max,
                                       uint64_t* lanes) {
  return add_tile<kDirection>(values, count, scale, abs_max, lanes);
}
#endif

template <Direction kDirection>
AddTile add_tile_of(SimdLevel level) {
  COT_ASSERT(level <= cpu_simd_level());
#if COT_HAS_X86_TARGETS
  switch (level) {
    case SimdLevel::avx512: return &add_tile_avx512<kDirection>;
    case SimdLevel::avx2: return &add_tile_avx2<kDirection>;
    case SimdLevel::baseline: break;
  }
#endif
  return &add_tile_baseline<kDirection>;
}

double scale_of(uint32_t weight, const FixedPointSpec& spec) {
  return std::ldexp(static_cast<double>(weight), static_cast<int>(spec.fraction_bits));
}

size_t first_bad(std::span<const float> values, float abs_max) {
  const auto bad = std::find_if(values.begin(), values.end(), [&](float v) { return !(std::fabs(v) <= abs_max); });
  return static_cast<size_t>(bad - values.begin());
}

}  // namespace

Status add_update(std::span<const float> values, uint32_t weight, const FixedPointSpec& spec,
                  std::span<uint64_t> lanes) {
  return add_update(cpu_simd_level(), values, weight, spec, lanes);
}

void subtract_update(std::span<const float> values, uint32_t weight, const FixedPointSpec& spec,
                     std::span<uint64_t> lanes) {
  subtract_update(cpu_simd_level(), values, weight, spec, lanes);
}

Status add_update(SimdLevel level, std::span<const float> values, uint32_t weight, const FixedPointSpec& spec,
                  std::span<uint64_t> lanes) {
  COT_ASSERT(values.size() == lanes.size());
  COT_ASSERT(weight >= 1 && weight <= spec.weight_max);
  const AddTile add = add_tile_of<Direction::add>(level);
  const double scale = scale_of(weight, spec);
  for (size_t begin = 0; begin < values.size(); begin += kTile) {
    const size_t count = std::min(kTile, values.size() - begin);
    if (add(values.data() + begin, count, scale, spec.value_abs_max, lanes.data() + begin)) continue;
    subtract_update(level, values.first(begin + count), weight, spec, lanes.first(begin + count));
    const size_t bad = first_bad(values, spec.value_abs_max);
    return Error(ErrorCode::malformed, "update value " + std::to_string(bad) + " is not a finite number within +-" +
                                           std::to_string(spec.value_abs_max));
  }
  return {};
}

void subtract_update(SimdLevel level, std::span<const float> values, uint32_t weight, const FixedPointSpec& spec,
                     std::span<uint64_t> lanes) {
  COT_ASSERT(values.size() == lanes.size());
  COT_ASSERT(weight >= 1 && weight <= spec.weight_max);
  const AddTile subtract = add_tile_of<Direction::subtract>(level);
  subtract(values.data(), values.size(), scale_of(weight, spec), spec.value_abs_max, lanes.data());
}

void add_lanes(std::span<const uint64_t> other, std::span<uint64_t> sum) {
  COT_ASSERT(other.size() == sum.size());
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
}

void decode_mean(std::span<const uint64_t> lanes, uint64_t weight_sum, const FixedPointSpec& spec,
                 std::span<float> mean) {
  COT_ASSERT(lanes.size() == mean.size() && weight_sum > 0);
  const double unit = std::ldexp(1.0 / static_cast<double>(weight_sum), -static_cast<int>(spec.fraction_bits));
  for (size_t i = 0; i < lanes.size(); ++i) {
    mean[i] = static_cast<float>(static_cast<double>(static_cast<int64_t>(lanes[i])) * unit);
  }
}

}  // namespace coterie
