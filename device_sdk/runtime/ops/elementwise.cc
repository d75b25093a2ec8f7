// relu: x -> y of any shape; add: a, b of one shape -> y.
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

Result<Shape> infer_relu(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_no_attributes(op));
  COT_TRY(check_operands(inputs, 1, 1, 1));
  return inputs[0].shape;
}

Result<Shape> infer_add(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_no_attributes(op));
  COT_TRY(check_operands(inputs, 2, 2, 2));
  if (inputs[0].shape != inputs[1].shape) {
    return does_not_fit("adds " + to_text(inputs[0].shape) + " and " + to_text(inputs[1].shape));
  }
  return inputs[0].shape;
}

double flops(const OpInfo&, std::span<const Operand>, const Shape& output) {
  return static_cast<double>(elements(output));
}

struct Settings {
  size_t per_example;
};

Settings settings_of(const OpBuild& build) { return {elements(build.output_shape())}; }

void run_relu_forward(const Step& step, const StepContext& context) {
  context.kernels.relu_forward(context.batch * step.as<Settings>().per_example, step.buffers[0], step.buffers[1]);
}

void run_relu_backward(const Step& step, const StepContext& context) {
  const auto& [y, dy, unused1, unused2, unused3, unused4] = step.buffers;
  context.kernels.relu_backward(context.batch * step.as<Settings>().per_example, y, dy, dy);
}

void run_add(const Step& step, const StepContext& context) {
  const auto& [a, b, y, unused1, unused2, unused3] = step.buffers;
  context.kernels.add(context.batch * step.as<Settings>().per_example, a, b, y);
}

void forward_relu(OpBuild& build) {
  if (build.is_applied_by_producer()) return build.output_is_input();
  const BufferId x = build.input(0);
  if (build.may_overwrite_input()) build.output_is_input();
  build.emit(run_relu_forward, settings_of(build), {x, build.output()});
}

// In place: the gradient that came in has no other reader.
void backward_relu(OpBuild& build) {
  if (!build.is_undone_by_consumer()) {
    build.emit(run_relu_backward, settings_of(build), {build.output(), build.output_gradient()});
  }
  build.pass_gradient(0);
}

void forward_add(OpBuild& build) {
  build.emit(run_add, settings_of(build), {build.input(0), build.input(1), build.output()});
}

void backward_add(OpBuild& build) {
  build.pass_gradient(0);
  build.pass_gradient(1);
}

}  // namespace

const OpRule kRelu{OpKind::relu, true, infer_relu, flops, forward_relu, backward_relu};
const OpRule kAdd{OpKind::add, false, infer_add, flops, forward_add, backward_add};

}  // namespace coterie::ops
