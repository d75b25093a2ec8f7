// adaptive_average_pool2d, adaptive_max_pool2d: x[b, h, w, c] -> y[b, height, width, c], whatever h and w are.
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

using kernels::AdaptivePool2dShape;

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}}));
  COT_TRY(check_rank(inputs[0], "input (batch x height x width x channels)", 4, 4));
  const auto& a = std::get<SizeAttributes>(op.attributes);
  const Shape& x = inputs[0].shape;
  return one_output({x[0], a.height, a.width, x[3]});
}

// Windows overlap where the output is the larger one.
double flops(const OpInfo&, std::span<const Operand> inputs, std::span<const TensorType> outputs) {
  return static_cast<double>(elements(inputs[0].shape)) + static_cast<double>(elements(outputs[0].shape));
}

AdaptivePool2dShape settings_of(const OpBuild& build) {
  const Shape& x = build.input_shape(0);
  const auto& a = build.attributes<SizeAttributes>();
  return {.batch = static_cast<size_t>(x[0]),
          .height = static_cast<size_t>(x[1]),
          .width = static_cast<size_t>(x[2]),
          .channels = static_cast<size_t>(x[3]),
          .out_rows = a.height,
          .out_columns = a.width};
}

size_t x_image(const AdaptivePool2dShape& s) { return s.height * s.width * s.channels; }
size_t y_image(const AdaptivePool2dShape& s) { return s.out_rows * s.out_columns * s.channels; }

AdaptivePool2dShape part_of(const Step& step) {
  AdaptivePool2dShape part = step.as<AdaptivePool2dShape>();
  part.batch = step.part.size();
  return part;
}

void run_max_forward(const Step& step, const StepContext& context) {
  const AdaptivePool2dShape s = part_of(step);
  const auto& [x, y] = step.take<2>();
  const size_t at = step.part.begin;
  context.kernels.adaptive_max_pool2d_forward(s, x + at * x_image(s), y + at * y_image(s));
}

constexpr StepKindOf<AdaptivePool2dShape> kMaxForwardStep{"adaptive_max_pool2d.forward", run_max_forward};

void run_max_backward(const Step& step, const StepContext& context) {
  const AdaptivePool2dShape s = part_of(step);
  const auto& [x, y, dy, dx] = step.take<4>();
  const size_t x_at = step.part.begin * x_image(s), y_at = step.part.begin * y_image(s);
  context.kernels.adaptive_max_pool2d_backward(s, x + x_at, y + y_at, dy + y_at, false, dx + x_at);
}

constexpr StepKindOf<AdaptivePool2dShape> kMaxBackwardStep{"adaptive_max_pool2d.backward", run_max_backward};

void run_average_forward(const Step& step, const StepContext& context) {
  const AdaptivePool2dShape s = part_of(step);
  const auto& [x, y] = step.take<2>();
  const size_t at = step.part.begin;
  context.kernels.adaptive_average_pool2d_forward(s, x + at * x_image(s), y + at * y_image(s));
}

constexpr StepKindOf<AdaptivePool2dShape> kAverageForwardStep{"adaptive_average_pool2d.forward", run_average_forward};

void run_average_backward(const Step& step, const StepContext& context) {
  const AdaptivePool2dShape s = part_of(step);
  const auto& [dy, dx] = step.take<2>();
  const size_t at = step.part.begin;
  context.kernels.adaptive_average_pool2d_backward(s, dy + at * y_image(s), dx + at * x_image(s));
}

constexpr StepKindOf<AdaptivePool2dShape> kAverageBackwardStep{"adaptive_average_pool2d.backward",
                                                               run_average_backward};

Split by_images(const OpBuild& build) { return build.split(static_cast<size_t>(build.input_shape(0)[0])); }

void forward_max(OpBuild& build) {
  build.emit(kMaxForwardStep, settings_of(build), {build.input(0), build.output()}, by_images(build));
}

void backward_max(OpBuild& build) {
  build.emit(kMaxBackwardStep, settings_of(build),
             {build.input(0), build.output(), build.output_gradient(), build.input_gradient(0)}, by_images(build));
}

void forward_average(OpBuild& build) {
  build.emit(kAverageForwardStep, settings_of(build), {build.input(0), build.output()}, by_images(build));
}

void backward_average(OpBuild& build) {
  build.emit(kAverageBackwardStep, settings_of(build), {build.output_gradient(), build.input_gradient(0)},
             by_images(build));
}

}  // namespace

const OpRule kAdaptiveAveragePool2d{OpKind::adaptive_average_pool2d, infer, flops, forward_average, backward_average};
const OpRule kAdaptiveMaxPool2d{OpKind::adaptive_max_pool2d, infer, flops, forward_max, backward_max};

}  // namespace coterie::ops
