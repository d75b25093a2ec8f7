// max_pool2d, average_pool2d: x[b, h, w, c] -> y[b, oh, ow, c]; global_average_pool2d: x[b, h, w, c] -> y[b, c].
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

using kernels::Pool2dShape;

Status check_image(std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}}));
  return check_rank(inputs[0], "input (batch x height x width x channels)", 4, 4);
}

// Every window, the one that `ceil` more positions let in too, must hold a pixel.
Result<int64_t> window_positions(std::string_view axis, int64_t size, int64_t kernel, int64_t stride,
                                 int64_t pad_before, int64_t pad_after, int64_t ceil) {
  COT_ASSIGN(const int64_t count, output_positions(axis, size + ceil, kernel, stride, pad_before, pad_after));
  if ((count - 1) * stride < pad_before + size) return count;
  return does_not_fit("last window of the " + std::string(axis) + " begins behind the input's " +
                      std::to_string(size));
}

Result<std::vector<TensorType>> infer_window(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_image(inputs));
  const auto& a = std::get<Pool2dAttributes>(op.attributes);
  const Shape& x = inputs[0].shape;
  COT_ASSIGN(const int64_t height,
             window_positions("height", x[1], a.kernel_h, a.stride_h, a.pad_top, a.pad_bottom, a.ceil_h));
  COT_ASSIGN(const int64_t width,
             window_positions("width", x[2], a.kernel_w, a.stride_w, a.pad_left, a.pad_right, a.ceil_w));
  return one_output({x[0], height, width, x[3]});
}

Result<std::vector<TensorType>> infer_global(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_image(inputs));
  return one_output({inputs[0].shape[0], inputs[0].shape[3]});
}

double flops_window(const OpInfo& op, std::span<const Operand>, std::span<const TensorType> outputs) {
  const auto& a = std::get<Pool2dAttributes>(op.attributes);
  return static_cast<double>(elements(outputs[0].shape)) * a.kernel_h * a.kernel_w;
}

double flops_global(const OpInfo&, std::span<const Operand> inputs, std::span<const TensorType>) {
  return static_cast<double>(elements(inputs[0].shape));
}

struct Settings {
  Pool2dShape shape;
  bool through_relu;

  size_t x_image() const { return shape.height * shape.width * shape.channels; }
  size_t y_image() const { return shape.out_h() * shape.out_w() * shape.channels; }
  Pool2dShape of(const kernels::Range& images) const {
    Pool2dShape part = shape;
    part.batch = images.size();
    return part;
  }
};

// A global pool is one window over the whole image.
Settings settings_of(const OpBuild& build) {
  const Shape& x = build.input_shape(0);
  Pool2dShape s{.batch = static_cast<size_t>(x[0]),
                .height = static_cast<size_t>(x[1]),
                .width = static_cast<size_t>(x[2]),
                .channels = static_cast<size_t>(x[3]),
                .kernel_h = static_cast<size_t>(x[1]),
                .kernel_w = static_cast<size_t>(x[2])};
  if (const auto* a = std::get_if<Pool2dAttributes>(&build.op().attributes)) {
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
  return {s, build.undoes_relu()};
}

void run_max_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, y] = step.take<2>();
  const size_t at = step.part.begin;
  context.kernels.max_pool2d_forward(s.of(step.part), x + at * s.x_image(), y + at * s.y_image());
}

void run_max_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, y, dy, dx] = step.take<4>();
  const size_t x_at = step.part.begin * s.x_image(), y_at = step.part.begin * s.y_image();
  context.kernels.max_pool2d_backward(s.of(step.part), x + x_at, y + y_at, dy + y_at, s.through_relu, dx + x_at);
}

void run_average_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, y] = step.take<2>();
  const size_t at = step.part.begin;
  context.kernels.average_pool2d_forward(s.of(step.part), x + at * s.x_image(), y + at * s.y_image());
}

void run_average_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [dy, dx] = step.take<2>();
  const size_t at = step.part.begin;
  context.kernels.average_pool2d_backward(s.of(step.part), dy + at * s.y_image(), dx + at * s.x_image());
}

Split by_images(const OpBuild& build) { return build.split(static_cast<size_t>(build.input_shape(0)[0])); }

void forward_max(OpBuild& build) {
  build.emit(run_max_forward, settings_of(build), {build.input(0), build.output()}, by_images(build));
}

void backward_max(OpBuild& build) {
  build.emit(run_max_backward, settings_of(build),
             {build.input(0), build.output(), build.output_gradient(), build.input_gradient(0)}, by_images(build));
}

void forward_average(OpBuild& build) {
  build.emit(run_average_forward, settings_of(build), {build.input(0), build.output()}, by_images(build));
}

void backward_average(OpBuild& build) {
  build.emit(run_average_backward, settings_of(build), {build.output_gradient(), build.input_gradient(0)},
             by_images(build));
}

}  // namespace

const OpRule kMaxPool2d{OpKind::max_pool2d, infer_window, flops_window, forward_max, backward_max};
const OpRule kAveragePool2d{OpKind::average_pool2d, infer_window, flops_window, forward_average, backward_average};
const OpRule kGlobalAveragePool2d{OpKind::global_average_pool2d, infer_global, flops_global, forward_average,
                                  backward_average};

}  // namespace coterie::ops
