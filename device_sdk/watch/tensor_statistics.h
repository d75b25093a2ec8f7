// What a tensor's values are like: one pass over them, in double. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "device_sdk/runtime/program_buffer.h"

namespace coterie {

struct TensorStatistics {
  static constexpr uint64_t kNowhere = ~0ull;

  uint64_t count = 0;
  uint64_t nan = 0, positive_infinite = 0, negative_infinite = 0;
  uint64_t zeros = 0;  // of either sign
  // By the finite ones alone; 0 where there are none.
  double min = 0, max = 0, sum = 0, magnitude_sum = 0;
  uint64_t first_non_finite = kNowhere;  // element
  uint64_t largest = kNowhere;           // element: the first of the largest magnitude among the finite ones

  uint64_t non_finite() const { return nan + positive_infinite + negative_infinite; }
  uint64_t finite() const { return count - non_finite(); }
  bool is_finite() const { return non_finite() == 0; }
  double mean() const { return finite() == 0 ? 0 : sum / static_cast<double>(finite()); }
  double magnitude_mean() const { return finite() == 0 ? 0 : magnitude_sum / static_cast<double>(finite()); }
};

TensorStatistics statistics_of(std::span<const float> values);
// The same for `count` elements of a type; int32 gets an empty answer: they are finite, and no measurements.
TensorStatistics statistics_of(ElementType type, const void* data, uint64_t count);

}  // namespace coterie
