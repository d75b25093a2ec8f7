// What the kernels are told about their operands. All sizes are counts of elements; all tensors are dense, row-major
// and NHWC. Kernels trust these structs: whoever fills one (device_sdk/runtime) has checked it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coterie::kernels {

// x[batch, in], w[in, out], bias[out] -> y[batch, out].
struct DenseShape {
  size_t batch, in, out;
};

// A build for models that have no such convolutions can be without these ways to compute them (cmake/ops_from.py): if
// there is one all the same, it is computed directly.
#ifdef COTERIE_NO_DEPTHWISE
inline constexpr bool kHasDepthwise = false;
#else
inline constexpr bool kHasDepthwise = true;
#endif
#ifdef COTERIE_NO_FFT
inline constexpr bool kHasFft = false;
#else
inline constexpr bool kHasFft = true;
#endif
#ifdef COTERIE_NO_WINOGRAD
inline constexpr bool kHasWinograd = false;
#else
inline constexpr bool kHasWinograd = true;
#endif
#ifdef COTERIE_NO_WINOGRAD_4X4  // with tiles of 2 x 2 alone
inline constexpr bool kHasWinograd4x4 = false;
#else
inline constexpr bool kHasWinograd4x4 = true;
#endif

// x[batch, height, width, channels], w[kernel_h, kernel_w, channels / groups, filters], bias[filters]
//   -> y[batch, out_h, out_w, filters].
// Group g reads channels [g * channels / groups, ...) and writes filters [g * filters / groups, ...).
// Neighbouring taps of a kernel are `dilation` pixels apart (PyTorch's and ONNX's meaning).
struct Conv2dShape {
  size_t batch, height, width, channels;
  size_t kernel_h, kernel_w, filters;
  size_t stride_h = 1, stride_w = 1;
  size_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  size_t groups = 1;
  size_t dilation_h = 1, dilation_w = 1;

  constexpr size_t padded_h() const { return height + pad_top + pad_bottom; }
  constexpr size_t padded_w() const { return width + pad_left + pad_right; }
  constexpr size_t extent_h() const { return (kernel_h - 1) * dilation_h + 1; }  // rows of the image under one kernel
  constexpr size_t extent_w() const { return (kernel_w - 1) * dilation_w + 1; }
  constexpr size_t out_h() const { return (padded_h() - extent_h()) / stride_h + 1; }
  constexpr size_t out_w() const { return (padded_w() - extent_w()) / stride_w + 1; }
  constexpr bool is_padded() const { return pad_top + pad_left + pad_bottom + pad_right != 0; }
  constexpr size_t taps() const { return kernel_h * kernel_w * (channels / groups); }  // rows of w read as a matrix
  constexpr bool is_depthwise() const { return kHasDepthwise && groups == channels && groups == filters && groups > 1; }
  // Then it is a dense layer over pixels.
  constexpr bool is_pointwise() const {
    return kernel_h == 1 && kernel_w == 1 && stride_h == 1 && stride_w == 1 && groups == 1 && !is_padded();
  }
  DenseShape as_dense() const { return {batch * height * width, channels, filters}; }
};

// x[batch, height, width, channels] -> y[batch, out_h, out_w, channels]. Every window holds at least one real
// pixel. ceil_h, ceil_w: rows below and columns to the right of the padding that only ceil_mode adds (ONNX,
// PyTorch), so that the last window is whole. They are minus infinity to a maximum and never count in a mean;
// padding counts there, as a zero, if count_padding (ONNX count_include_pad).
struct Pool2dShape {
  size_t batch, height, width, channels;
  size_t kernel_h, kernel_w;
  size_t stride_h = 1, stride_w = 1;
  size_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  bool count_padding = false;
  size_t ceil_h = 0, ceil_w = 0;

  size_t padded_h() const { return height + pad_top + pad_bottom; }
  size_t padded_w() const { return width + pad_left + pad_right; }
  size_t out_h() const { return (padded_h() + ceil_h - kernel_h) / stride_h + 1; }
  size_t out_w() const { return (padded_w() + ceil_w - kernel_w) / stride_w + 1; }
};

// x[batch, height, width, channels] -> y[batch, out_rows, out_columns, channels]. Window i of an axis of `in`
// pixels and `out` outputs is [floor(i in / out), ceil((i + 1) in / out)) (PyTorch's AdaptiveAvgPool2d):
// windows overlap unless `out` divides `in`.
struct AdaptivePool2dShape {
  size_t batch, height, width, channels;
  size_t out_rows, out_columns;

  size_t out_h() const { return out_rows; }
  size_t out_w() const { return out_columns; }
};

// What follows a product or a normalisation at no cost: y = max(y, 0), or min(max(y, 0), 6).
enum class Activation : uint8_t { none, relu, relu6 };

// What a batch adds to the training summary. loss: the sum over examples; correct: examples whose largest output (the
// first of equals) is the label.
struct LossSums {
  double loss = 0;
  uint64_t correct = 0;
};

// One SGD step: g += weight_decay * w; v <- momentum * v + g; w <- w - learning_rate * v, or with Nesterov's momentum
// w <- w - learning_rate * (g + momentum * v). Source: PyTorch, torch.optim.SGD with dampening 0.
struct SgdStep {
  float learning_rate, momentum, weight_decay;
  bool nesterov = false;
};

// One Adam step: g += weight_decay * w; m <- beta1 * m + (1 - beta1) * g; v <- beta2 * v + (1 - beta2) * g^2;
// w <- w - step_size * m / (sqrt(v) * v_scale + epsilon), where at step t (from 1)
// step_size = learning_rate / (1 - beta1^t) and v_scale = 1 / sqrt(1 - beta2^t).
struct AdamStep {
  float beta1, beta2, epsilon, weight_decay;
  float step_size, v_scale;
};

}  // namespace coterie::kernels
