// softmax, log_softmax: x -> y of any shape, along one axis.
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

using kernels::SoftmaxShape;

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}}));
  const uint32_t axis = std::get<AxisAttributes>(op.attributes).axis;
  if (axis >= inputs[0].shape.size()) {
    return does_not_fit("has no axis " + std::to_string(axis) + " in an input of " + to_text(inputs[0].shape));
  }
  return one_output(inputs[0].shape);
}

double flops(const OpInfo&, std::span<const Operand>, std::span<const TensorType> outputs) {
  return 5.0 * static_cast<double>(elements(outputs[0].shape));
}

SoftmaxShape settings_of(const OpBuild& build) {
  const Shape& x = build.input_shape(0);
  const uint32_t axis = build.attributes<AxisAttributes>().axis;
  return {elements(x, 0, axis), static_cast<size_t>(x[axis]), elements(x, axis + 1, x.size())};
}

struct Part {
  SoftmaxShape shape;
  size_t at;  // its first element
};

Part part_of(const Step& step) {
  const auto& s = step.as<SoftmaxShape>();
  return {{step.part.size(), s.axis, s.inner}, step.part.begin * s.axis * s.inner};
}

void run_softmax_forward(const Step& step, const StepContext& context) {
  const auto& [x, y] = step.take<2>();
  const auto [shape, at] = part_of(step);
  context.kernels.softmax_forward(shape, x + at, y + at);
}

void run_softmax_backward(const Step& step, const StepContext& context) {
  const auto& [y, dy, dx] = step.take<3>();
  const auto [shape, at] = part_of(step);
  context.kernels.softmax_backward(shape, y + at, dy + at, dx + at);
}

void run_log_softmax_forward(const Step& step, const StepContext& context) {
  const auto& [x, y] = step.take<2>();
  const auto [shape, at] = part_of(step);
  context.kernels.log_softmax_forward(shape, x + at, y + at);
}

void run_log_softmax_backward(const Step& step, const StepContext& context) {
  const auto& [y, dy, dx] = step.take<3>();
  const auto [shape, at] = part_of(step);
  context.kernels.log_softmax_backward(shape, y + at, dy + at, dx + at);
}

void forward(OpBuild& build) {
  const StepFunction run = build.op().kind == OpKind::softmax ? run_softmax_forward : run_log_softmax_forward;
  const SoftmaxShape shape = settings_of(build);
  build.emit(run, shape, {build.input(0), build.output()}, build.split(shape.outer));
  build.may_share(build.output(), build.input(0));
}

void backward(OpBuild& build) {
  const StepFunction run = build.op().kind == OpKind::softmax ? run_softmax_backward : run_log_softmax_backward;
  const BufferId dy = build.output_gradient(), dx = build.input_gradient(0);
  const SoftmaxShape shape = settings_of(build);
  build.emit(run, shape, {build.output(), dy, dx}, build.split(shape.outer));
  build.may_share(dx, dy);
}

}  // namespace

const OpRule kSoftmax{OpKind::softmax, infer, flops, forward, backward};
const OpRule kLogSoftmax{OpKind::log_softmax, infer, flops, forward, backward};

}  // namespace coterie::ops
