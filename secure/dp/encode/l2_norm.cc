#include "secure/dp/encode/l2_norm.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace coterie {
namespace {

constexpr size_t kLeaf = 256;

// Eight sums side by side, so that compilers may use vectors without changing the order.
double sum_of_squares(const float* values, size_t count) {
  double sums[8] = {};
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (size_t lane = 0; lane < 8; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  for (; i < count; ++i) sums[i % 8] += static_cast<double>(values[i]) * values[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

double pairwise(const float* values, size_t count) {
  if (count <= kLeaf) return sum_of_squares(values, count);
  const size_t half = (count / 2 + kLeaf - 1) / kLeaf * kLeaf;
  return pairwise(values, half) + pairwise(values + half, count - half);
}

}  // namespace

Result<double> l2_norm(std::span<const float> values) {
  // Squares of floats stay below 2^256, so that a sum of finite ones is finite; any other value makes it none.
  const double sum = pairwise(values.data(), values.size());
  if (std::isfinite(sum)) return std::sqrt(sum);
  const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  return Error(ErrorCode::invalid_argument, "update value " + std::to_string(bad - values.begin()) +
                                                " is not a finite number; the training diverged, nothing is sent");
}

}  // namespace coterie
