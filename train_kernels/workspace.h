// How much memory the matrix kernels need beside their operands: the same for every instruction set, so that a memory
// plan does not depend on the machine it was made on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/lanes.h"
#include "train_kernels/shapes.h"

namespace coterie::kernels {

// Scratch memory, in bytes.
size_t dense_forward_workspace(const DenseShape& shape);
size_t dense_backward_input_workspace(const DenseShape& shape);
size_t dense_backward_weights_workspace(const DenseShape& shape);
size_t conv2d_forward_workspace(const Conv2dShape& shape);
size_t conv2d_backward_input_workspace(const Conv2dShape& shape);
size_t conv2d_backward_weights_workspace(const Conv2dShape& shape);

// Prepared weights (dense_prepare_forward and its like), in bytes, whatever the batch; 0: there is nothing to prepare.
size_t dense_forward_prepared_bytes(const DenseShape& shape);
size_t dense_backward_input_prepared_bytes(const DenseShape& shape);
size_t conv2d_forward_prepared_bytes(const Conv2dShape& shape);
size_t conv2d_backward_input_prepared_bytes(const Conv2dShape& shape);

// Whether weights that are used once, by this batch, are to be prepared. Where not, the product takes null for the
// prepared weights, which costs less for so few rows: it reads w as it lies, or prepares a panel at a time in its
// workspace.
bool prepares_dense_forward(const DenseShape& shape);
bool prepares_dense_backward_input(const DenseShape& shape);
bool prepares_conv2d_forward(const Conv2dShape& shape);
bool prepares_conv2d_backward_input(const Conv2dShape& shape);

// Whether the product never reads w itself, on any machine, so that it may be null. dX does not wherever its weights
// are prepared.
bool prepared_replaces_forward(const Conv2dShape& shape);

// Whether a part of the product may consist of columns: filters of y, or channels of dx.
bool conv2d_forward_has_columns(const Conv2dShape& shape);
bool conv2d_backward_input_has_columns(const Conv2dShape& shape);
// Where such parts begin: at multiples of this, a multiple of every panel's width. Without prepared weights multiples
// of kLanesMax cost no more.
inline constexpr size_t kColumnGrain = 96;

// B is packed into panels of one to three vectors of columns (simd/gemm_inl.h), whichever leaves no vector
// over: a tile of one vector multiplies at two thirds of the rate of the others.
inline constexpr size_t kPanelMax = 3 * kLanesMax;
constexpr size_t panel_columns(size_t n, size_t lanes, size_t vectors_max) {
  const size_t vectors = (n + lanes - 1) / lanes;
  if (vectors <= vectors_max) return vectors * lanes;
  return (vectors_max == 3 && vectors == 4 ? 2 : vectors_max) * lanes;
}

// Rows of A, and the elements of each, that are packed at a time: the size of half the smallest L2 there is.
inline constexpr size_t kPackedARows = 96;
// K is cut into pieces of at most so many products, each summed in k's order, and the sums of the pieces are
// added in their order (simd/gemm.cc). One number for every call, whatever its rows, columns and packing: it
// decides the bits of a sum, and an element of a result may depend on its own row alone.
inline constexpr size_t kDepth = 512;
// A sum of k products in equal pieces.
constexpr size_t piece_length(size_t k) {
  const size_t pieces = (k + kDepth - 1) / kDepth;
  return (k + pieces - 1) / pieces;
}
// The floats of a packed block of A[m, k].
constexpr size_t packed_a_floats(size_t m, size_t k) {
  return (m < kPackedARows ? m : kPackedARows) * (k < kDepth ? k : kDepth);
}

// Fewer rows than that do not pay for packing B.
inline constexpr size_t kPackedRowsMin = 64;
// Up to so many rows, dX turns one panel of the weights at a time, in the call that reads it.
inline constexpr size_t kPanelwiseRows = 384;
// Examples of which dW takes the product at a time: one piece of a sum.
inline constexpr size_t kTurnedRows = kDepth;

// Output pixels that a convolution wants in one product. One image of a late layer has 49: the weights, or their
// gradient, are larger than that and would pass through the cache for each image.
inline constexpr size_t kPixelsAtOnce = 448;

constexpr size_t images_at_once(const Conv2dShape& s) {
  const size_t pixels = s.out_h() * s.out_w();
  if (pixels * 2 > kPixelsAtOnce || s.padded_h() * s.padded_w() * s.channels > (size_t{1} << 18)) return 1;
  return s.batch < kPixelsAtOnce / pixels ? s.batch : kPixelsAtOnce / pixels;
}

// The convolution of dy that makes dx where the stride is 1: its weights are w turned half round, channels and filters
// in each other's place.
constexpr Conv2dShape convolution_of_gradient(const Conv2dShape& s) {
  Conv2dShape turned = s;
  turned.height = s.out_h();
  turned.width = s.out_w();
  turned.channels = s.filters;
  turned.filters = s.channels;
  turned.pad_top = s.extent_h() - 1 - s.pad_top;
  turned.pad_bottom = s.extent_h() - 1 - s.pad_bottom;
  turned.pad_left = s.extent_w() - 1 - s.pad_left;
  turned.pad_right = s.extent_w() - 1 - s.pad_right;
  return turned;
}

// Where dx is made so: no border is cut away, whole vectors of channels, and dx not much larger than dy (the products
// with the border around dy are wasted).
constexpr bool gradient_is_convolution(const Conv2dShape& s) {
  return s.stride_h == 1 && s.stride_w == 1 && s.pad_top < s.extent_h() && s.pad_bottom < s.extent_h() &&
         s.pad_left < s.extent_w() && s.pad_right < s.extent_w() && s.channels / s.groups >= kLanesMax &&
         s.filters / s.groups >= kLanesMax && 4 * s.height * s.width <= 5 * s.out_h() * s.out_w();
}

// Floats of B[k, n] in panels of `panel` columns.
constexpr size_t packed_floats(size_t k, size_t n, size_t panel) { return k * ((n + panel - 1) / panel * panel); }

// conv2d_forward_part and conv2d_backward_input_part: Winograd's largest tile.
inline constexpr size_t kConv2dRowGrain = 4;
// dx can be made by rows: not where each pixel of dy is spread over dx.
constexpr bool gradient_has_rows(const Conv2dShape& s) {
  return s.is_depthwise() || s.is_pointwise() || gradient_is_convolution(s);
}

// Depthwise convolution, along one axis: the kernel positions that meet one output are w, w + w_step, ... (`count` of
// them), and the inputs they meet x, x + x_step, ...
struct ColumnTaps {
  int32_t w, w_step, x, x_step, count;

  bool meets_as(const ColumnTaps& other) const { return w == other.w && count == other.count; }
};

// Hands out consecutive pieces of a workspace, each a multiple of 64 bytes. With a null workspace it only counts.
class Scratch {
 public:
  explicit Scratch(void* workspace) : base_(static_cast<uint8_t*>(workspace)) {}

  template <typename T>
  T* take(size_t count) {
    const size_t at = used_;
    used_ += (count * sizeof(T) + 63) / 64 * 64;
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + at);
  }
  size_t used() const { return used_; }
  // What is left, for a call that takes its pieces itself.
  void* rest() const { return base_ + used_; }

 private:
  uint8_t* base_;
  size_t used_ = 0;
};

}  // namespace coterie::kernels
