// What the rules of conv2d and conv_transpose2d share.
#pragma once

#include <string>

#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/settings_text.h"
#include "train_kernels/shapes.h"

namespace coterie::ops {

// x[b, h, w, c], a weight of four dimensions and maybe a bias.
Status check_convolution_inputs(std::span<const Operand> inputs);
// The bias, if there is one, has an element a filter.
Status check_convolution_bias(std::span<const Operand> inputs, int64_t filters);
// The image with its border is scratch memory, whose offsets must fit int32; `what` names it: "input".
Status check_padded_size(const Shape& image, const Conv2dAttributes& attributes, const std::string& what);

// The convolution that reads `image` with this weight.
kernels::Conv2dShape convolution_shape(const Shape& image, const Shape& weight, const Conv2dAttributes& attributes);

// The window; how large the operands are, they say themselves.
void describe_convolution(const kernels::Conv2dShape& shape, SettingsText& text);

}  // namespace coterie::ops
