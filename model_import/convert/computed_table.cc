#include "model_import/convert/computed_table.h"

#include <algorithm>
#include <cmath>

namespace coterie::model_import {
namespace {

constexpr size_t kPositionsMin = 6;
constexpr double kTolerance = 2e-3;  // of the largest element: float32 rounds the angle of a late position

enum class Sequence : uint8_t { other, constant, swings };

// Elements at first, first + stride, ...
Sequence kind_of(const std::vector<float>& x, size_t first, size_t stride, size_t count) {
  const auto at = [&](size_t t) { return static_cast<double>(x[first + t * stride]); };
  double largest = 0, product = 0, square = 0;
  bool is_constant = true;
  for (size_t t = 0; t < count; ++t) {
    largest = std::max(largest, std::fabs(at(t)));
    is_constant = is_constant && at(t) == at(0);
  }
  if (!(largest <= 1 + 1e-6)) return Sequence::other;
  if (is_constant) return Sequence::constant;
  for (size_t t = 1; t + 1 < count; ++t) {
    product += (at(t + 1) + at(t - 1)) * at(t);
    square += at(t) * at(t);
  }
  const double twice = square > 0 ? product / square : 0;  // 2 c
  if (std::fabs(twice) > 2 * (1 + 1e-6)) return Sequence::other;
  for (size_t t = 1; t + 1 < count; ++t) {
    if (std::fabs(at(t + 1) + at(t - 1) - twice * at(t)) > kTolerance * largest) return Sequence::other;
  }
  return twice < 1.998 && largest > 0.5 ? Sequence::swings : Sequence::constant;
}

bool is_computed_along(const HostTensor& tensor, size_t stride, size_t count) {
  bool any_swings = false;
  for (size_t first = 0; first < tensor.reals.size(); ++first) {
    if (first / stride % count != 0) continue;  // not the first of its sequence
    const Sequence kind = kind_of(tensor.reals, first, stride, count);
    if (kind == Sequence::other) return false;
    any_swings = any_swings || kind == Sequence::swings;
  }
  return any_swings;
}

}  // namespace

bool is_computed_table(const HostTensor& tensor) {
  if (tensor.element != Element::real || tensor.is_uniform) return false;
  size_t stride = 1;
  for (size_t axis = tensor.shape.size(); axis-- > 0;) {
    const auto count = static_cast<size_t>(tensor.shape[axis]);
    const bool is_alone = count == tensor.reals.size();  // a vector is too little evidence
    if (count >= kPositionsMin && !is_alone && is_computed_along(tensor, stride, count)) return true;
    stride *= count;
  }
  return false;
}

}  // namespace coterie::model_import
