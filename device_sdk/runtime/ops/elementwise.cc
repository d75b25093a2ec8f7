// relu: x -> y of any shape; identity: x -> y of any type.
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

Result<std::vector<TensorType>> infer_relu(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}}));
  return one_output(inputs[0].shape);
}

Result<std::vector<TensorType>> infer_identity(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_one_input(inputs));
  return one_output(inputs[0].shape, inputs[0].type);
}

Split split_of(const OpBuild& build) { return by_elements(elements(build.output_shape())); }

void run_relu_forward(const Step& step, const StepContext& context) {
  const auto [x, y] = step.slice<2>();
  context.kernels.relu_forward(step.part.size(), x, y);
}

constexpr StepKindOf<NoSettings> kReluForwardStep{"relu.forward", run_relu_forward};

void run_relu_backward(const Step& step, const StepContext& context) {
  const auto [y, dy, dx] = step.slice<3>();
  context.kernels.relu_backward(step.part.size(), y, dy, dx);
}

constexpr StepKindOf<NoSettings> kReluBackwardStep{"relu.backward", run_relu_backward};

void forward_relu(OpBuild& build) {
  if (build.is_applied_by_producer()) return build.output_is_input();
  build.emit(kReluForwardStep, NoSettings{}, {build.input(0), build.output()}, split_of(build));
  build.may_share(build.output(), build.input(0));
}

void backward_relu(OpBuild& build) {
  const BufferId dy = build.output_gradient();
  if (build.is_undone_by_producer() || build.is_undone_by_consumer()) return build.pass_gradient(0);
  const BufferId dx = build.input_gradient(0);
  build.emit(kReluBackwardStep, NoSettings{}, {build.output(), dy, dx}, split_of(build));
  build.may_share(dx, dy);
}

void forward_identity(OpBuild& build) { build.output_is_input(); }
void backward_identity(OpBuild& build) { build.pass_gradient(0); }

}  // namespace

const OpRule kRelu{OpKind::relu, infer_relu, flops_per_output, forward_relu, backward_relu};
const OpRule kIdentity{OpKind::identity, infer_identity, no_flops, forward_identity, backward_identity};

}  // namespace coterie::ops
