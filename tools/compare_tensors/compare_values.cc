#include "tools/compare_tensors/compare_values.h"

#include <cmath>

namespace coterie {
namespace {

TensorVerdict verdict_of(const TensorDifference& difference) {
  if (difference.non_finite_apart > 0) return TensorVerdict::not_finite;
  if (difference.is_same_bits) return TensorVerdict::same;
  return difference.outside > 0 ? TensorVerdict::differs : TensorVerdict::agrees;
}

// Elements that are infinite in x and finite in y.
struct Overflows {
  uint64_t count = 0, beyond = 0;  // all; where y is beyond float16
  Overflows(std::span<const float> x, std::span<const float> y) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isinf(x[i]) || !std::isfinite(y[i])) continue;
      count += 1;
      beyond += std::fabs(static_cast<double>(y[i])) > kHalfMax ? 1 : 0;
    }
  }
  bool is_of_half() const { return beyond > 0 && 2 * beyond >= count; }
};

}  // namespace

std::string overflow_note(std::span<const float> a, std::span<const float> b) {
  const Overflows of_a(a, b), of_b(b, a);
  if (of_a.is_of_half()) {
    return std::to_string(of_a.beyond) + (of_a.beyond == 1 ? " value is" : " values are") +
           " infinite where the reference is beyond 65504, float16's largest";
  }
  if (of_b.is_of_half()) {
    return "the reference is infinite in " + std::to_string(of_b.beyond) + (of_b.beyond == 1 ? " value" : " values") +
           " beyond 65504, float16's largest";
  }
  return "";
}

void compare_values(std::span<const float> a, std::span<const float> b, double tolerance, ComparedTensor& to) {
  if (to.shape != to.other_shape || a.size() != b.size()) {
    to.verdict = TensorVerdict::shape;
    return;
  }
  to.difference = difference_of(a, b, tolerance);
  to.picture = picture_of(a, b);
  to.verdict = verdict_of(to.difference);
  if (to.verdict != TensorVerdict::not_finite) return;
  if (const std::string note = overflow_note(a, b); !note.empty()) to.notes.push_back(note);
}

}  // namespace coterie
