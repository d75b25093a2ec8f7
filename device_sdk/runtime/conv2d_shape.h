// A convolution as the kernels see it, from its op's operands.
#pragma once

#include "device_sdk/runtime/op_rule.h"
#include "proto/messages/model.h"
#include "train_kernels/shapes.h"

namespace coterie {

// x[batch, height, width, channels], w[kernel_h, kernel_w, channels / groups, filters]: what conv2d's rule accepted.
inline kernels::Conv2dShape conv2d_shape(const Shape& x, const Shape& w, const Conv2dAttributes& a) {
  return {.batch = static_cast<size_t>(x[0]),
          .height = static_cast<size_t>(x[1]),
          .width = static_cast<size_t>(x[2]),
          .channels = static_cast<size_t>(x[3]),
          .kernel_h = static_cast<size_t>(w[0]),
          .kernel_w = static_cast<size_t>(w[1]),
          .filters = static_cast<size_t>(w[3]),
          .stride_h = a.stride_h,
          .stride_w = a.stride_w,
          .pad_top = a.pad_top,
          .pad_left = a.pad_left,
          .pad_bottom = a.pad_bottom,
          .pad_right = a.pad_right,
          .groups = a.groups,
          .dilation_h = a.dilation_h,
          .dilation_w = a.dilation_w};
}

}  // namespace coterie
