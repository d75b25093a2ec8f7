#include "device_sdk/agent/largest_values.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "proto/codec/update/sparse_values.h"

namespace coterie {
namespace {

// Leaves 0 elsewhere.
std::vector<uint32_t> keep_largest(uint64_t count, std::span<float> values) {
  std::vector<float> magnitudes(values.size());
  std::ranges::transform(values, magnitudes.begin(), [](float value) { return std::abs(value); });
  const auto last = magnitudes.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::ranges::nth_element(magnitudes, last, std::greater<>());
  const float least = *last;
  // Among equals the first: exactly `count` are kept, as an update's length must not tell what is in it.
  uint64_t equal_left = count - static_cast<uint64_t>(std::ranges::count_if(
                                    values, [least](float value) { return std::abs(value) > least; }));
  std::vector<uint32_t> indices;
  indices.reserve(count);
  for (size_t i = 0; i < values.size(); ++i) {
    const float magnitude = std::abs(values[i]);
    if (magnitude > least || (magnitude == least && equal_left > 0)) {
      if (magnitude == least) --equal_left;
      indices.push_back(static_cast<uint32_t>(i));
    } else {
      values[i] = 0;
    }
  }
  return indices;
}

// The largest level's value is no larger than the largest value: that is within the plan's bound.
float scale_of(float largest, int32_t reach) {
  const auto levels = static_cast<float>(reach);
  float scale = largest / levels;
  while (scale * levels > largest) scale = std::nextafter(scale, 0.0f);
  return scale;
}

}  // namespace

LargestValues take_largest(const TopKRules& rules, std::span<float> values) {
  COT_ASSERT(rules.sent_count >= 1 && rules.sent_count <= values.size());
  LargestValues largest{.indices = keep_largest(rules.sent_count, values), .levels = {}, .scale = 0};
  if (rules.bits == kTopKFloatBits) return largest;
  float most = 0;
  for (const uint32_t index : largest.indices) most = std::max(most, std::abs(values[index]));
  const int32_t reach = level_reach(rules.bits);
  largest.scale = scale_of(most, reach);
  for (const uint32_t index : largest.indices) {
    const double steps =
        largest.scale == 0 ? 0 : static_cast<double>(values[index]) / static_cast<double>(largest.scale);
    const double level = std::clamp(std::nearbyint(steps), -static_cast<double>(reach), static_cast<double>(reach));
    values[index] = largest.scale * static_cast<float>(level);
    largest.levels.push_back(static_cast<uint16_t>(static_cast<int32_t>(level) + reach));
  }
  return largest;
}

}  // namespace coterie
