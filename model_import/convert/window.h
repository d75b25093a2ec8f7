// Kernels that slide over a dimension: what Conv, ConvTranspose and the pools say about one of them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model_import/graph/graph.h"
#include "proto/codec/limits.h"

namespace coterie::model_import {

struct Window {
  uint32_t kernel = 1, stride = 1, dilation = 1, pad_before = 0, pad_after = 0;
};

// The window of spatial dimension i of `spatial`, with size `size`, from strides, dilations, pads and auto_pad (ONNX
// Conv). Errors: malformed.
Result<Window> window_of(const Node& node, size_t i, size_t spatial, int64_t size, int64_t kernel);

// floor((size + padding - dilation (kernel - 1) - 1) / stride) + 1, at least 1. Errors: malformed.
Result<int64_t> convolved_size(const Node& node, int64_t size, const Window& window);

}  // namespace coterie::model_import
