// dense: x[.., in], w[in, out], optional bias[out] -> y[.., out].
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"
#include "train_kernels/workspace.h"

namespace coterie::ops {
namespace {

using kernels::DenseShape;

constexpr size_t kRowGrain = 8;  // rows that the kernels multiply at a time

Result<std::vector<TensorType>> infer(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}, {}, {.is_optional = true}}));
  COT_TRY(check_rank(inputs[0], "input", 2, 8));
  COT_TRY(check_rank(inputs[1], "weight", 2, 2));
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  if (w[0] != x.back()) return does_not_fit("weight " + to_text(w) + " does not fit an input of " + to_text(x));
  if (inputs.size() == 3 && inputs[2].is_present && inputs[2].shape != Shape{w[1]}) {
    return does_not_fit("bias " + to_text(inputs[2].shape) + " does not fit weight " + to_text(w));
  }
  Shape y = x;
  y.back() = w[1];
  return one_output(std::move(y));
}

double flops(const OpInfo&, std::span<const Operand> inputs, std::span<const TensorType> outputs) {
  return 2.0 * static_cast<double>(inputs[1].shape[0]) * static_cast<double>(elements(outputs[0].shape));
}

struct Settings {
  DenseShape shape;
  kernels::Activation activation;

  DenseShape of(const kernels::Range& rows) const { return {rows.size(), shape.in, shape.out}; }
};

Settings settings_of(const OpBuild& build) {
  const Shape &x = build.input_shape(0), &w = build.input_shape(1);
  return {{elements(x, 0, x.size() - 1), static_cast<size_t>(w[0]), static_cast<size_t>(w[1])},
          build.applies_relu() ? kernels::Activation::relu : kernels::Activation::none};
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, w, bias, y, scratch] = step.take<5>();
  const size_t row = step.part.begin;
  context.kernels.dense_forward(s.of(step.part), x + row * s.shape.in, w, bias, s.activation, y + row * s.shape.out,
                                scratch);
}

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [dy, w, dx, scratch] = step.take<4>();
  const size_t row = step.part.begin;
  context.kernels.dense_backward_input(s.of(step.part), dy + row * s.shape.out, w, dx + row * s.shape.in, scratch);
}

void run_backward_weights(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, dy, dw, dbias, scratch] = step.take<5>();
  float* const dbias_once = step.part.begin == 0 ? dbias : nullptr;
  context.kernels.dense_backward_weights_part(s.shape, step.part, x, dy, dw, dbias_once, scratch);
}

void forward(OpBuild& build) {
  const Settings s = settings_of(build);
  build.emit(run_forward, s,
             {build.input(0), build.input(1), build.input(2), build.output(),
              build.workspace(kernels::dense_forward_workspace(s.shape))},
             build.split(s.shape.batch, kRowGrain));
}

// The kernel makes dw and dbias together; if only the bias is trained, dw goes to scratch memory.
void emit_backward_weights(OpBuild& build, Settings s, BufferId dy) {
  const ChannelRange channels = build.trained_channels(1, 2);
  if (!channels.is_all()) s.shape.out = channels.count;
  dy = build.take_channels(dy, build.output_shape(), channels);
  build.emit(run_backward_weights, s,
             {build.input(0), dy, build.gradient_or_scratch(1, channels), build.channel_gradient(2, channels),
              build.workspace(kernels::dense_backward_weights_workspace(s.shape))},
             build.split(s.shape.in, kRowGrain));
}

void backward(OpBuild& build) {
  const Settings s = settings_of(build);
  const BufferId dy = build.output_gradient();
  if (build.needs_gradient(1) || build.needs_gradient(2)) emit_backward_weights(build, s, dy);
  if (!build.needs_gradient(0)) return;
  build.emit(run_backward_input, s,
             {dy, build.input(1), build.input_gradient(0),
              build.workspace(kernels::dense_backward_input_workspace(s.shape))},
             build.split(s.shape.batch, kRowGrain));
}

}  // namespace

const OpRule kDense{OpKind::dense, infer, flops, forward, backward};

}  // namespace coterie::ops
