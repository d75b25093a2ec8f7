// How far two tensors of as many elements are apart: a, and b, the reference. Pure, in double.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace coterie {

// Where both values are finite, unless said otherwise. epsilon = 1.19e-7, the step of float32 at 1.
struct TensorDifference {
  static constexpr uint64_t kNowhere = ~0ull;

  uint64_t count = 0;
  uint64_t non_finite_apart = 0;  // elements that are finite in one alone, or not the same infinity or NaN
  double cosine = 1;              // a.b / (|a| |b|); both zero: 1, one zero: 0
  double absolute_max = 0;        // max |a - b|
  double relative_sum = 0;        // sum of |a / b - 1| over |b| > epsilon
  double euclidean = 0;           // |a - b| / |b|; 0 where |b| <= epsilon
  // Both are scaled to [0, 1] by their least and largest (a constant one is left as it is), raised to epsilon and
  // divided by their sum: sum P_a ln(P_a / P_b).
  double divergence = 0;
  double mean_a = 0, deviation_a = 0, mean_b = 0, deviation_b = 0;  // of the population
  double absolute_mean = 0;                                         // mean |a - b|
  double root_mean_square = 0;                                      // sqrt(mean (a - b)^2)
  double relative_max = 0;                                          // max |a / b - 1| over |b| > epsilon
  double relative_mean = 0;  // mean over all elements of |a / b - 1|, 0 where |b| <= epsilon

  double reference_max = 0;  // max |b|
  double scaled_max = 0;     // absolute_max / reference_max; absolute_max where that is 0
  uint64_t outside = 0;      // elements with |a - b| > tolerance max |b|, and those of non_finite_apart
  uint64_t first_outside = kNowhere;
  uint64_t worst = kNowhere;  // element of absolute_max
  bool is_same_bits = false;
};

// Both have as many elements. The formulas are those of Huawei's accuracy comparison (msaccucmp), and the last group.
TensorDifference difference_of(std::span<const float> a, std::span<const float> b, double tolerance);

// A drawing's worth of two tensors: where pairs (b, a) lie, and how values are spread.
struct TensorPicture {
  static constexpr size_t kCells = 48, kBins = 40;

  double low = 0, high = 0;          // of both
  std::vector<uint32_t> cells = {};  // kCells rows of a by kCells columns of b
  std::array<uint32_t, kBins> bins_a{}, bins_b{};
};
TensorPicture picture_of(std::span<const float> a, std::span<const float> b);

}  // namespace coterie
