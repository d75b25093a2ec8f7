#include "tools/watch/tensor_statistics.h"

#include <bit>
#include <cmath>

namespace coterie {
namespace {

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

template <typename Element, typename ToDouble>
TensorStatistics over(const void* data, uint64_t count, const ToDouble& to_double) {
  TensorStatistics statistics;
  statistics.count = count;
  double magnitude_max = 0;
  const auto* const from = static_cast<const Element*>(data);
  for (uint64_t i = 0; i < count; ++i) add(statistics, to_double(from[i]), i, magnitude_max);
  return statistics;
}

}  // namespace

TensorStatistics statistics_of(std::span<const float> values) {
  return over<float>(values.data(), values.size(), [](float value) { return static_cast<double>(value); });
}

TensorStatistics statistics_of(ElementType type, const void* data, uint64_t count) {
  switch (type) {
    case ElementType::float32: return statistics_of({static_cast<const float*>(data), count});
    case ElementType::float64: return over<double>(data, count, [](double value) { return value; });
    case ElementType::bfloat16:
      return over<uint16_t>(data, count, [](uint16_t half) {
        return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(half) << 16));
      });
    case ElementType::int32: break;
  }
  return {};
}

}  // namespace coterie
