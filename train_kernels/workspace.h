// How much scratch memory the matrix kernels need: the same for every instruction set, so that a memory plan does not
// depend on the machine it was made on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/shapes.h"

namespace coterie::kernels {

// All in bytes.
size_t dense_forward_workspace(const DenseShape& shape);
size_t dense_backward_input_workspace(const DenseShape& shape);
size_t dense_backward_weights_workspace(const DenseShape& shape);
size_t conv2d_forward_workspace(const Conv2dShape& shape);
size_t conv2d_backward_input_workspace(const Conv2dShape& shape);
size_t conv2d_backward_weights_workspace(const Conv2dShape& shape);

// The widest vector of any target, and the widest panel of packed columns (simd/gemm_inl.h), in floats.
inline constexpr size_t kLanesMax = 16;
inline constexpr size_t kPanelMax = 3 * kLanesMax;
// Fewer rows than that do not pay for packing B.
inline constexpr size_t kPackedRowsMin = 64;
// Up to so many rows, dX packs one panel of the transposed weight at a time.
inline constexpr size_t kPanelwiseRows = 384;
// Examples whose activations dW turns at a time.
inline constexpr size_t kTurnedRows = 512;

// Floats of B[k, n] in panels of `panel` columns.
constexpr size_t packed_floats(size_t k, size_t n, size_t panel) { return k * ((n + panel - 1) / panel * panel); }

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

 private:
  uint8_t* base_;
  size_t used_ = 0;
};

}  // namespace coterie::kernels
