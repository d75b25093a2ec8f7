// Where windows lie on images and sequences: the attributes that convolutions and pools have in common.
#pragma once

#include <array>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {

// One spatial dimension. Window w covers the positions w stride - pad_before + i dilation, i in [0, kernel).
struct Frame {
  int64_t size = 1;  // of the operand
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad_before = 0, pad_after = 0;
  int64_t output_padding = 0;  // ConvTranspose
  int64_t count = 1;           // windows, which is the output's size (ConvTranspose: its output's)

  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  int64_t position(int64_t window, int64_t i) const { return window * stride - pad_before + i * dilation; }
  bool is_inside(int64_t at) const { return at >= 0 && at < size; }
};

// Depth, height and width; an image has depth 1, a sequence height 1, too. Kernel sizes from `kernel_shape`, or
// `kernel` where the attribute is absent. `count` is not set. Errors: malformed; invalid_argument (other than one to
// three spatial dimensions).
using Frames = std::array<Frame, 3>;
Result<Frames> frames_of(const Call& call, const Shape& kernel);

// Sets pads and count as `auto_pad` and `pads` have it. Errors: malformed, invalid_argument.
Status lay_windows(const Call& call, Frame& frame, bool is_ceil);

}  // namespace coterie::model_import
