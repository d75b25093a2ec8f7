#include "tools/compare_tensors/tensor_difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace coterie {
namespace {

constexpr double kEpsilon = 1.19e-7;

bool is_apart(double a, double b) {
  if (std::isfinite(a) && std::isfinite(b)) return false;
  return !(std::isnan(a) && std::isnan(b)) && a != b;
}

// Min and max of those that count.
struct Range {
  double low = 0, high = 0;
  bool is_empty = true;
  void add(double value) {
    low = is_empty ? value : std::min(low, value);
    high = is_empty ? value : std::max(high, value);
    is_empty = false;
  }
  double scaled(double value) const { return high > low ? (value - low) / (high - low) : value; }
  size_t place(double value, size_t places) const {
    if (!(high > low)) return 0;
    return std::min(places - 1, static_cast<size_t>((value - low) / (high - low) * static_cast<double>(places)));
  }
};

template <typename Visit>
void for_each_pair(std::span<const float> a, std::span<const float> b, const Visit& visit) {
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (std::isfinite(x) && std::isfinite(y)) visit(i, x, y);
  }
}

double divergence_of(std::span<const float> a, std::span<const float> b) {
  Range of_a, of_b;
  for_each_pair(a, b, [&](size_t, double x, double y) { of_a.add(x), of_b.add(y); });
  double sum_a = 0, sum_b = 0;
  for_each_pair(a, b, [&](size_t, double x, double y) {
    sum_a += std::max(of_a.scaled(x), kEpsilon);
    sum_b += std::max(of_b.scaled(y), kEpsilon);
  });
  double divergence = 0;
  for_each_pair(a, b, [&](size_t, double x, double y) {
    const double p = std::max(of_a.scaled(x), kEpsilon) / sum_a, q = std::max(of_b.scaled(y), kEpsilon) / sum_b;
    divergence += p * std::log(p / q);
  });
  return divergence;
}

}  // namespace

TensorDifference difference_of(std::span<const float> a, std::span<const float> b, double tolerance) {
  TensorDifference of;
  of.count = a.size();
  of.is_same_bits = a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  double n = 0, dot = 0, squares_a = 0, squares_b = 0, squares = 0, sum_a = 0, sum_b = 0, sum = 0;
  for_each_pair(a, b, [&](size_t i, double x, double y) {
    const double apart = std::abs(x - y);
    n += 1;
    dot += x * y;
    squares_a += x * x;
    squares_b += y * y;
    squares += apart * apart;
    sum_a += x;
    sum_b += y;
    sum += apart;
    if (of.worst == TensorDifference::kNowhere || apart > of.absolute_max) {
      of.absolute_max = apart;
      of.worst = i;
    }
    of.reference_max = std::max(of.reference_max, std::abs(y));
    if (std::abs(y) <= kEpsilon) return;
    const double relative = std::abs(x / y - 1);
    of.relative_sum += relative;
    of.relative_max = std::max(of.relative_max, relative);
  });
  if (n > 0) {
    of.mean_a = sum_a / n;
    of.mean_b = sum_b / n;
    for_each_pair(a, b, [&](size_t, double x, double y) {
      of.deviation_a += (x - of.mean_a) * (x - of.mean_a);
      of.deviation_b += (y - of.mean_b) * (y - of.mean_b);
    });
    of.deviation_a = std::sqrt(of.deviation_a / n);
    of.deviation_b = std::sqrt(of.deviation_b / n);
    of.absolute_mean = sum / n;
    of.root_mean_square = std::sqrt(squares / n);
    of.relative_mean = of.relative_sum / n;
    of.divergence = divergence_of(a, b);
  }
  const double lengths = std::sqrt(squares_a) * std::sqrt(squares_b);
  if (lengths > 0) of.cosine = dot / lengths;
  else of.cosine = squares_a == squares_b ? 1 : 0;
  if (std::sqrt(squares_b) > kEpsilon) of.euclidean = std::sqrt(squares) / std::sqrt(squares_b);
  of.scaled_max = of.reference_max > 0 ? of.absolute_max / of.reference_max : of.absolute_max;
  const double limit = of.reference_max > 0 ? tolerance * of.reference_max : tolerance;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    const bool are_apart = is_apart(x, y);
    of.non_finite_apart += are_apart ? 1 : 0;
    const bool is_outside = are_apart || std::abs(x - y) > limit;  // of two NaNs or one infinity: no
    if (!is_outside) continue;
    of.outside += 1;
    if (of.first_outside == TensorDifference::kNowhere) of.first_outside = i;
  }
  return of;
}

TensorPicture picture_of(std::span<const float> a, std::span<const float> b) {
  TensorPicture picture;
  picture.cells.resize(TensorPicture::kCells * TensorPicture::kCells);
  Range range;
  for_each_pair(a, b, [&](size_t, double x, double y) { range.add(x), range.add(y); });
  picture.low = range.low;
  picture.high = range.high;
  for_each_pair(a, b, [&](size_t, double x, double y) {
    const size_t row = range.place(x, TensorPicture::kCells), column = range.place(y, TensorPicture::kCells);
    picture.cells[row * TensorPicture::kCells + column] += 1;
    picture.bins_a[range.place(x, TensorPicture::kBins)] += 1;
    picture.bins_b[range.place(y, TensorPicture::kBins)] += 1;
  });
  return picture;
}

}  // namespace coterie
