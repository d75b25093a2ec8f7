#include "device_sdk/runtime/ops/convolution.h"

#include "base/text/concat.h"
#include "device_sdk/runtime/limits.h"

namespace coterie::ops {

Status check_convolution_inputs(std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}, {}, {.is_optional = true}}));
  COT_TRY(check_rank(inputs[0], "input (batch x height x width x channels)", 4, 4));
  return check_rank(inputs[1], "weight", 4, 4);
}

Status check_convolution_bias(std::span<const Operand> inputs, int64_t filters) {
  if (inputs.size() < 3 || !inputs[2].is_present || inputs[2].shape == Shape{filters}) return {};
  return does_not_fit(concat({"bias ", to_text(inputs[2].shape), " does not fit weight ", to_text(inputs[1].shape)}));
}

Status check_padded_size(const Shape& image, const Conv2dAttributes& a, const std::string& what) {
  const double padded = (static_cast<double>(image[1]) + a.pad_top + a.pad_bottom) *
                        (static_cast<double>(image[2]) + a.pad_left + a.pad_right) * static_cast<double>(image[3]);
  if (padded <= static_cast<double>(limits::kTensorElementsMax)) return {};
  return Error(ErrorCode::too_large, concat({"its padded ", what, " has more than 2^28 elements"}));
}

void describe_convolution(const kernels::Conv2dShape& s, SettingsText& text) {
  text.add("kernel", s.kernel_h, s.kernel_w).add("stride", s.stride_h, s.stride_w);
  text.add_padding(s.pad_top, s.pad_left, s.pad_bottom, s.pad_right);
  if (s.dilation_h * s.dilation_w > 1) text.add("dilation", s.dilation_h, s.dilation_w);
  if (s.groups > 1) text.add("groups", s.groups);
}

kernels::Conv2dShape convolution_shape(const Shape& image, const Shape& weight, const Conv2dAttributes& a) {
  // image [n, h, w, c], weight [kh, kw, c / groups, filters]; both row-major.
  const auto size = [](int64_t dimension) { return static_cast<size_t>(dimension); };
  return {.batch = size(image[0]),
          .height = size(image[1]),
          .width = size(image[2]),
          .channels = size(image[3]),
          .kernel_h = size(weight[0]),
          .kernel_w = size(weight[1]),
          .filters = size(weight[3]),
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

}  // namespace coterie::ops
