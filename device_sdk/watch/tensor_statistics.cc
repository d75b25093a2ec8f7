#include "device_sdk/watch/tensor_statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "device_sdk/watch/for_each_value.h"

namespace coterie {
namespace {

// One value, whatever it is.
void add(TensorStatistics& to, double value, uint64_t at, double& magnitude_max) {
  if (!std::isfinite(value)) {
    if (to.is_finite()) to.first_non_finite = at;
    (std::isnan(value) ? to.nan : value > 0 ? to.positive_infinite : to.negative_infinite) += 1;
    return;
  }
  const double magnitude = std::abs(value);
  if (to.largest == TensorStatistics::kNowhere) {
    to.min = to.max = value;
  } else {
    to.min = value < to.min ? value : to.min;
    to.max = value > to.max ? value : to.max;
  }
  if (to.largest == TensorStatistics::kNowhere || magnitude > magnitude_max) {
    to.largest = at;
    magnitude_max = magnitude;
  }
  to.zeros += value == 0 ? 1 : 0;
  to.sum += value;
  to.magnitude_sum += magnitude;
}

// Sums have so many parts, added in one order, so that a compiler may keep them in vectors and every CPU has the same
// bits. Between two blocks the parts become one.
constexpr size_t kParts = 8;
constexpr size_t kBlock = 4096;

struct Block {
  std::array<double, kParts> sums{}, magnitude_sums{};
  std::array<float, kParts> mins, maxs;
  std::array<uint32_t, kParts> zeros{}, wrongs{};
};

// `values`: a whole number of kParts. False: one of them is not finite.
bool look_at(std::span<const float> values, Block& block) {
  std::copy_n(values.begin(), kParts, block.mins.begin());
  block.maxs = block.mins;
  for (size_t i = 0; i < values.size(); i += kParts) {
    for (size_t part = 0; part < kParts; ++part) {
      const float value = values[i + part];
      const uint32_t magnitude_bits = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
      block.wrongs[part] |= magnitude_bits >= 0x7f800000u ? 1u : 0u;
      block.zeros[part] += magnitude_bits == 0 ? 1u : 0u;
      block.mins[part] = value < block.mins[part] ? value : block.mins[part];
      block.maxs[part] = value > block.maxs[part] ? value : block.maxs[part];
      block.sums[part] += static_cast<double>(value);
      block.magnitude_sums[part] += static_cast<double>(std::bit_cast<float>(magnitude_bits));
    }
  }
  return std::ranges::all_of(block.wrongs, [](uint32_t wrong) { return wrong == 0; });
}

// `at`: the first of its values within the tensor.
void add(TensorStatistics& to, const Block& block, std::span<const float> values, uint64_t at, double& magnitude_max) {
  const double min = static_cast<double>(*std::ranges::min_element(block.mins));
  const double max = static_cast<double>(*std::ranges::max_element(block.maxs));
  const bool is_first = to.largest == TensorStatistics::kNowhere;
  to.min = is_first ? min : std::min(to.min, min);
  to.max = is_first ? max : std::max(to.max, max);
  const double magnitude = std::max(std::abs(min), std::abs(max));
  if (is_first || magnitude > magnitude_max) {
    const auto largest =
        std::ranges::find_if(values, [&](float value) { return std::abs(static_cast<double>(value)) == magnitude; });
    to.largest = at + static_cast<uint64_t>(largest - values.begin());
    magnitude_max = magnitude;
  }
  for (size_t part = 0; part < kParts; ++part) {
    to.sum += block.sums[part];
    to.magnitude_sum += block.magnitude_sums[part];
    to.zeros += block.zeros[part];
  }
}

}  // namespace

TensorStatistics statistics_of(std::span<const float> values) {
  TensorStatistics statistics;
  statistics.count = values.size();
  double magnitude_max = 0;
  for (uint64_t at = 0; at < values.size(); at += kBlock) {
    const std::span<const float> all = values.subspan(at, std::min<uint64_t>(kBlock, values.size() - at));
    const std::span<const float> whole = all.first(all.size() / kParts * kParts);
    Block block;
    const bool is_plain = !whole.empty() && look_at(whole, block);
    if (is_plain) add(statistics, block, whole, at, magnitude_max);
    for (size_t i = is_plain ? whole.size() : 0; i < all.size(); ++i) {
      add(statistics, static_cast<double>(all[i]), at + i, magnitude_max);
    }
  }
  return statistics;
}

TensorStatistics statistics_of(ElementType type, const void* data, uint64_t count) {
  if (type == ElementType::float32) return statistics_of(std::span(static_cast<const float*>(data), count));
  TensorStatistics statistics;
  if (type == ElementType::int32) return statistics;
  statistics.count = count;
  double magnitude_max = 0;
  uint64_t at = 0;
  for_each_value(type, data, count, [&](double value) { add(statistics, value, at++, magnitude_max); });
  return statistics;
}

}  // namespace coterie
