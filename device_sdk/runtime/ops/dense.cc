// dense: x[in], w[in, out], optional bias[out] -> y[out].
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"
#include "train_kernels/workspace.h"

namespace coterie::ops {
namespace {

using kernels::DenseShape;

Result<Shape> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_no_attributes(op));
  COT_TRY(check_operands(inputs, 2, 3, 1));
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  if (x.size() != 1) return does_not_fit("input must have one dimension, has " + to_text(x));
  if (w.size() != 2) return does_not_fit("weight must have two dimensions, has " + to_text(w));
  if (w[0] != x[0]) return does_not_fit("weight " + to_text(w) + " does not fit an input of " + to_text(x));
  if (inputs.size() == 3 && inputs[2].shape != Shape{w[1]}) {
    return does_not_fit("bias " + to_text(inputs[2].shape) + " does not fit weight " + to_text(w));
  }
  return Shape{w[1]};
}

double flops(const OpInfo&, std::span<const Operand> inputs, const Shape&) {
  return 2.0 * static_cast<double>(elements(inputs[1].shape));
}

struct Settings {
  DenseShape shape;
  kernels::Activation activation;

  DenseShape of(size_t batch) const { return {batch, shape.in, shape.out}; }
};

Settings settings_of(const OpBuild& build) {
  const Shape& w = build.input_shape(1);
  return {{build.batch(), static_cast<size_t>(w[0]), static_cast<size_t>(w[1])},
          build.applies_relu() ? kernels::Activation::relu : kernels::Activation::none};
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, w, bias, y, scratch, unused] = step.buffers;
  context.kernels.dense_forward(s.of(context.batch), x, w, bias, s.activation, y, scratch);
}

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [dy, w, dx, scratch, unused1, unused2] = step.buffers;
  context.kernels.dense_backward_input(s.of(context.batch), dy, w, dx, scratch);
}

void run_backward_weights(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, dy, dw, dbias, scratch, unused] = step.buffers;
  context.kernels.dense_backward_weights(s.of(context.batch), x, dy, dw, dbias, scratch);
}

void forward(OpBuild& build) {
  const Settings s = settings_of(build);
  build.emit(run_forward, s,
             {build.input(0), build.input(1), build.input(2), build.output(),
              build.scratch(kernels::dense_forward_workspace(s.shape))});
}

void backward(OpBuild& build) {
  const Settings s = settings_of(build);
  const BufferId dy = build.output_gradient();
  build.emit(run_backward_weights, s,
             {build.input(0), dy, build.input_gradient(1), build.input_gradient(2),
              build.scratch(kernels::dense_backward_weights_workspace(s.shape))});
  if (!build.needs_gradient(0)) return;
  build.emit(run_backward_input, s,
             {dy, build.input(1), build.input_gradient(0),
              build.scratch(kernels::dense_backward_input_workspace(s.shape))});
}

}  // namespace

const OpRule kDense{OpKind::dense, false, infer, flops, forward, backward};

}  // namespace coterie::ops
