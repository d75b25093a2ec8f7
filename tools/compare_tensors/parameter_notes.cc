#include "tools/compare_tensors/parameter_notes.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "tools/compare_tensors/tensor_difference.h"
#include "tools/model/inspect.h"

namespace coterie {
namespace {

bool is_transposed(std::span<const float> a, std::span<const float> b, size_t rows, size_t columns) {
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      if (a[i * columns + j] != b[j * rows + i]) return false;
    }
  }
  return true;
}

// The values of each channel, sorted: equal for two tensors that differ in their channels' order alone.
std::vector<std::vector<float>> channels_of(std::span<const float> values, size_t channels) {
  std::vector<std::vector<float>> of(channels);
  for (size_t i = 0; i < values.size(); ++i) of[i % channels].push_back(values[i]);
  std::ranges::sort(of);
  return of;
}

}  // namespace

std::string weight_note(std::span<const float> a, const Shape& shape_a, std::span<const float> b, const Shape& shape_b,
                        double tolerance) {
  const bool is_flipped = shape_a.size() == 2 && shape_b == Shape{shape_a[1], shape_a[0]};
  const auto transposed = [&] {
    return is_flipped && is_transposed(a, b, static_cast<size_t>(shape_a[0]), static_cast<size_t>(shape_a[1]));
  };
  if (shape_a != shape_b) {
    return transposed() ? "transposed" : "of another shape: " + shape_text(shape_a) + ", " + shape_text(shape_b);
  }
  const TensorDifference difference = difference_of(a, b, tolerance);
  if (difference.outside == 0) return "";
  if (transposed()) return "transposed";
  const size_t channels = shape_a.empty() ? 1 : static_cast<size_t>(shape_a.back());
  if (channels > 1 && channels_of(a, channels) == channels_of(b, channels)) return "its channels are in another order";
  char text[64];
  std::snprintf(text, sizeof text, "off by %.3g of the largest value", difference.scaled_max);
  return text;
}

}  // namespace coterie
