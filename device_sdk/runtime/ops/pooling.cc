#include "device_sdk/runtime/ops/pooling.h"

#include "base/text/concat.h"

namespace coterie::ops {
namespace {

// Every window, the one that `ceil` more positions let in too, must hold a pixel.
Result<int64_t> window_positions(std::string_view axis, int64_t size, int64_t kernel, int64_t stride,
                                 int64_t pad_before, int64_t pad_after, int64_t ceil) {
  COT_ASSIGN(const int64_t count, output_positions(axis, size + ceil, kernel, stride, pad_before, pad_after));
  if ((count - 1) * stride < pad_before + size) return count;
  return does_not_fit(concat({"last window of the ", axis, " begins behind the input's ", size}));
}

}  // namespace

Status check_pooled_image(std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}}));
  return check_rank(inputs[0], "input (batch x height x width x channels)", 4, 4);
}

Result<std::vector<TensorType>> infer_pool_window(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_pooled_image(inputs));
  const auto& a = std::get<Pool2dAttributes>(op.attributes);
  const Shape& x = inputs[0].shape;
  COT_ASSIGN(const int64_t height,
             window_positions("height", x[1], a.kernel_h, a.stride_h, a.pad_top, a.pad_bottom, a.ceil_h));
  COT_ASSIGN(const int64_t width,
             window_positions("width", x[2], a.kernel_w, a.stride_w, a.pad_left, a.pad_right, a.ceil_w));
  return one_output({x[0], height, width, x[3]});
}

double pool_window_flops(const OpInfo& op, std::span<const Operand>, std::span<const TensorType> outputs) {
  const auto& a = std::get<Pool2dAttributes>(op.attributes);
  return static_cast<double>(elements(outputs[0].shape)) * a.kernel_h * a.kernel_w;
}

kernels::Pool2dShape pool_shape(const Shape& x, const OpInfo& op) {
  kernels::Pool2dShape s{.batch = static_cast<size_t>(x[0]),
                         .height = static_cast<size_t>(x[1]),
                         .width = static_cast<size_t>(x[2]),
                         .channels = static_cast<size_t>(x[3]),
                         .kernel_h = static_cast<size_t>(x[1]),
                         .kernel_w = static_cast<size_t>(x[2])};
  if (const auto* a = std::get_if<Pool2dAttributes>(&op.attributes)) {
    s.kernel_h = a->kernel_h;
    s.kernel_w = a->kernel_w;
    s.stride_h = a->stride_h;
    s.stride_w = a->stride_w;
    s.pad_top = a->pad_top;
    s.pad_left = a->pad_left;
    s.pad_bottom = a->pad_bottom;
    s.pad_right = a->pad_right;
    s.count_padding = a->count_padding;
    s.ceil_h = a->ceil_h;
    s.ceil_w = a->ceil_w;
  }
  return s;
}

PoolSettings pool_settings(const OpBuild& build) {
  return {pool_shape(build.input_shape(0), build.op()), build.undoes_relu()};
}

void describe_pool(const PoolSettings& settings, SettingsText& text) {
  const kernels::Pool2dShape& s = settings.shape;
  text.add("kernel", s.kernel_h, s.kernel_w).add("stride", s.stride_h, s.stride_w);
  text.add_padding(s.pad_top, s.pad_left, s.pad_bottom, s.pad_right);
  if (s.ceil_h + s.ceil_w > 0) text.add("ceil", s.ceil_h, s.ceil_w);
  text.add(s.count_padding ? "counts padding" : "");
}

Split split_of_images(const OpBuild& build) { return build.split(static_cast<size_t>(build.input_shape(0)[0])); }

}  // namespace coterie::ops
