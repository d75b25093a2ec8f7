#include "train_kernels/int8/side_by_side.h"

#include "base/checked.h"
#include "train_kernels/int8/vector_kernels.h"

namespace coterie::kernels::int8 {
namespace {

constexpr size_t kVectorsMax = 4;       // of outputs: more of them are no fuller
constexpr size_t kProductsToRound = 6;  // what it takes to bring a vector of sums to its grid, in products

// What a wide pixel takes, in products of lanes by the fewest outputs.
size_t cost_of(const Conv2dShape& wide, const VectorKernels& kernels) {
  const size_t row = round_up(wide.kernel_w * wide.channels * kernels.element_bytes, kLaneBytes) / kLaneBytes;
  return (wide.kernel_h * row + kProductsToRound) * (round_up(wide.filters, kernels.lanes_least) / kernels.lanes_least);
}

}  // namespace

Conv2dShape side_by_side(const Conv2dShape& shape, size_t pixels) {
  Conv2dShape wide = shape;
  wide.kernel_w += (pixels - 1) * shape.stride_w;
  wide.stride_w *= pixels;
  wide.filters *= pixels;
  return wide;
}

size_t neighbours_at_once(const Conv2dShape& shape, const VectorKernels& kernels) {
  if (shape.groups != 1 || shape.dilation_w != 1) return 1;
  size_t best = 1, cost = cost_of(shape, kernels);
  for (size_t pixels = 2; pixels * shape.filters <= kVectorsMax * kernels.lanes; ++pixels) {
    if (shape.out_w() % pixels != 0) continue;
    const size_t other = cost_of(side_by_side(shape, pixels), kernels);
    if (other * best < cost * pixels) best = pixels, cost = other;
  }
  return best;
}

SideBySide side_by_side(const Conv2dShape& shape, const Weighted& layer, size_t pixels) {
  const Conv2dShape wide = side_by_side(shape, pixels);
  SideBySide made;
  made.weights.resize(wide.taps() * wide.filters);
  const size_t own = shape.kernel_w * shape.channels, shared = wide.kernel_w * shape.channels;
  for (size_t n = 0; n < pixels; ++n) {
    for (size_t kh = 0; kh < shape.kernel_h; ++kh) {
      for (size_t i = 0; i < own; ++i) {
        const size_t to = kh * shared + n * shape.stride_w * shape.channels + i;
        for (size_t o = 0; o < shape.filters; ++o) {
          made.weights[to * wide.filters + n * shape.filters + o] = layer.weights[(kh * own + i) * shape.filters + o];
        }
      }
    }
    made.bias.insert(made.bias.end(), layer.bias, layer.bias + shape.filters);
    made.multipliers.insert(made.multipliers.end(), layer.multipliers, layer.multipliers + shape.filters);
  }
  return made;
}

}  // namespace coterie::kernels::int8
