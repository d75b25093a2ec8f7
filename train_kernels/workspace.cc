#include "train_kernels/workspace.h"

namespace coterie::kernels {
namespace {

// Takes in the order and at most the sizes of the kernels in simd/.
size_t packed_floats(size_t k, size_t n) { return k * (n + kPanelMax); }

void take_padded_image(const Conv2dShape& s, Scratch& scratch) {
  if (s.is_padded()) scratch.take<float>(s.padded_h() * s.padded_w() * s.channels);
}

bool is_pointwise(const Conv2dShape& s) { return s.kernel_h == 1 && s.kernel_w == 1; }

DenseShape pointwise(const Conv2dShape& s) { return {s.batch * s.out_h() * s.out_w(), s.channels, s.filters}; }

}  // namespace

size_t dense_forward_workspace(const DenseShape& s) {
  Scratch scratch(nullptr);
  scratch.take<float>(packed_floats(s.in, s.out));
  return scratch.used();
}

size_t dense_backward_input_workspace(const DenseShape& s) {
  Scratch scratch(nullptr);
  scratch.take<float>(packed_floats(s.out, s.in));
  return scratch.used();
}

size_t dense_backward_weights_workspace(const DenseShape&) { return 0; }

size_t conv2d_forward_workspace(const Conv2dShape& s) {
  Scratch scratch(nullptr);
  scratch.take<int32_t>(s.out_h() * s.out_w());
  scratch.take<int32_t>(s.kernel_h * s.kernel_w);
  take_padded_image(s, scratch);
  scratch.take<float>(packed_floats(s.taps(), s.filters / s.groups) * s.groups);
  return scratch.used();
}

size_t conv2d_backward_weights_workspace(const Conv2dShape& s) {
  Scratch scratch(nullptr);
  scratch.take<int32_t>(s.taps());
  scratch.take<int32_t>(s.out_h());
  take_padded_image(s, scratch);
  return scratch.used();
}

size_t conv2d_backward_input_workspace(const Conv2dShape& s) {
  Scratch scratch(nullptr);
  scratch.take<int32_t>(s.out_h() * s.out_w());
  scratch.take<int32_t>(s.out_h() * s.out_w());
  scratch.take<int32_t>(s.kernel_h * s.kernel_w);
  take_padded_image(s, scratch);
  scratch.take<float>(s.filters * s.taps());
  if (!is_pointwise(s)) return scratch.used();
  const size_t dense = dense_backward_input_workspace(pointwise(s));
  return dense > scratch.used() ? dense : scratch.used();
}

}  // namespace coterie::kernels
