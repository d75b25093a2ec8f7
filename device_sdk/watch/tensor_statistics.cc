#include "device_sdk/watch/tensor_statistics.h"

#include <cmath>

#include "device_sdk/watch/for_each_value.h"

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

}  // namespace

TensorStatistics statistics_of(std::span<const float> values) {
  return statistics_of(ElementType::float32, values.data(), values.size());
}

TensorStatistics statistics_of(ElementType type, const void* data, uint64_t count) {
  TensorStatistics statistics;
  if (type == ElementType::int32) return statistics;
  statistics.count = count;
  double magnitude_max = 0;
  uint64_t at = 0;
  for_each_value(type, data, count, [&](double value) { add(statistics, value, at++, magnitude_max); });
  return statistics;
}

}  // namespace coterie
