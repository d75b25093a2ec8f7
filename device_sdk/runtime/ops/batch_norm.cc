// batch_norm: x[.., c], scale[c], bias[c], mean[c], variance[c] -> y[.., c] (Ioffe and Szegedy, 2015).
//
// In training the batch's own mean and variance normalise it, and the running ones in the state follow them; evaluated
// or frozen, the running ones normalise and nothing changes.
#include <algorithm>

#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

using kernels::BatchNormShape;
using kernels::NormActivation;

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  constexpr auto kState = InputRule::Role::state;
  COT_TRY(check_inputs(inputs, {{}, {}, {}, {.role = kState}, {.role = kState}}));
  COT_TRY(check_rank(inputs[0], "input (.. x channels)", 2, 8));
  const Shape& x = inputs[0].shape;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].shape != Shape{x.back()}) {
      return does_not_fit("input " + std::to_string(i) + " is " + to_text(inputs[i].shape) + ", must have " +
                          std::to_string(x.back()) + " channels");
    }
  }
  if (op.inputs[3] == op.inputs[4]) return does_not_fit("its mean and its variance are one tensor");
  const auto& a = std::get<NormAttributes>(op.attributes);
  if (!(a.epsilon >= 0)) return does_not_fit("epsilon must be at least 0");
  if (!(a.momentum >= 0 && a.momentum <= 1)) return does_not_fit("momentum must be in [0, 1]");
  return one_output(x);
}

double flops(const OpInfo&, std::span<const Operand>, std::span<const TensorType> outputs) {
  return 4.0 * static_cast<double>(elements(outputs[0].shape));
}

struct Settings {
  BatchNormShape shape;
  float epsilon, momentum;
  NormActivation activation;  // of the ReLU behind
};

Settings settings_of(const OpBuild& build) {
  const Shape& x = build.input_shape(0);
  const auto& a = build.attributes<NormAttributes>();
  const auto channels = static_cast<size_t>(x.back());
  return {{.rows = elements(x, 0, x.size() - 1), .channels = channels, .stride = channels},
          a.epsilon,
          a.momentum,
          build.applies_relu()    ? NormActivation::relu
          : build.applies_relu6() ? NormActivation::relu6
                                  : NormActivation::none};
}

bool uses_batch(const OpBuild& build) {
  return build.is_training() && !build.freezes_statistics() && !build.attributes<NormAttributes>().is_frozen;
}

// Following with momentum 1 from 0 gives the batch's own, unbiased variance, which the state follows once the loss is
// known to be finite.
void run_statistics(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, mean, inverse_stddev, new_mean, new_variance] = step.take<5>();
  std::fill_n(new_mean, s.shape.channels, 0.0f);
  std::fill_n(new_variance, s.shape.channels, 0.0f);
  const kernels::BatchNormRunning<float> from_zero{new_mean, new_variance, 1.0f};
  context.kernels.batch_norm_statistics(s.shape, x, s.epsilon, mean, inverse_stddev, &from_zero);
}

// One row has no unbiased variance; the running one then stays.
void run_follow(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [mean, variance, running_mean, running_variance] = step.take<4>();
  const size_t channels = s.shape.channels;
  context.kernels.scale_in_place(channels, 1 - s.momentum, running_mean);
  context.kernels.add_scaled(channels, s.momentum, mean, running_mean);
  if (s.shape.rows < 2) return;
  context.kernels.scale_in_place(channels, 1 - s.momentum, running_variance);
  context.kernels.add_scaled(channels, s.momentum, variance, running_variance);
}

void run_inverse_stddev(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [variance, inverse_stddev] = step.take<2>();
  context.kernels.batch_norm_inverse_stddev(s.shape.channels, variance, s.epsilon, inverse_stddev);
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, mean, inverse_stddev, scale, bias, y] = step.take<6>();
  context.kernels.batch_norm_forward(s.shape, x, {mean, inverse_stddev, scale, bias}, s.activation, y);
}

void run_backward_parameters(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, mean, inverse_stddev, scale, bias, dy, dscale, dbias] = step.take<8>();
  context.kernels.batch_norm_backward_parameters(s.shape, x, {mean, inverse_stddev, scale, bias}, s.activation, dy,
                                                 dscale, dbias);
}

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, mean, inverse_stddev, scale, bias, dscale, dbias, dy, dx] = step.take<9>();
  context.kernels.batch_norm_backward_input(s.shape, s.shape.rows, x, {mean, inverse_stddev, scale, bias},
                                            s.activation, dscale, dbias, dy, dx);
}

void run_backward_frozen(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, mean, inverse_stddev, scale, bias, dy, dx] = step.take<7>();
  context.kernels.batch_norm_backward_frozen(s.shape, x, {mean, inverse_stddev, scale, bias}, s.activation, dy, dx);
}

// What x is normalised with; 1 / stddev is kept for backward, and of the batch its mean, too.
struct Statistics {
  BufferId mean, inverse_stddev;
};

Statistics emit_statistics(OpBuild& build, const Settings& s) {
  const uint64_t bytes = s.shape.channels * sizeof(float);
  const BufferId inverse_stddev = build.save(bytes);
  if (!uses_batch(build)) {
    build.emit(run_inverse_stddev, s, {build.input(4), inverse_stddev});
    return {build.input(3), inverse_stddev};
  }
  const BufferId mean = build.save(bytes), new_mean = build.scratch(bytes), new_variance = build.scratch(bytes);
  build.emit(run_statistics, s, {build.input(0), mean, inverse_stddev, new_mean, new_variance});
  build.emit_after_loss(run_follow, s, {new_mean, new_variance, build.input(3), build.input(4)});
  return {mean, inverse_stddev};
}

void forward(OpBuild& build) {
  const Settings s = settings_of(build);
  const auto [mean, inverse_stddev] = emit_statistics(build, s);
  build.emit(run_forward, s,
             {build.input(0), mean, inverse_stddev, build.input(1), build.input(2), build.output()});
  build.may_share(build.output(), build.input(0));
}

void backward(OpBuild& build) {
  const Settings s = settings_of(build);
  const bool by_batch = uses_batch(build);
  const BufferId x = build.input(0), scale = build.input(1), bias = build.input(2), dy = build.output_gradient();
  const BufferId inverse_stddev = build.saved(0), mean = by_batch ? build.saved(1) : build.input(3);
  BufferId dscale = build.input_gradient(1), dbias = build.input_gradient(2);
  // dx is computed from both sums when the statistics depend on x.
  if (dscale != kNoBuffer || dbias != kNoBuffer || by_batch) {
    const uint64_t bytes = s.shape.channels * sizeof(float);
    if (dscale == kNoBuffer) dscale = build.scratch(bytes);
    if (dbias == kNoBuffer) dbias = build.scratch(bytes);
    build.emit(run_backward_parameters, s, {x, mean, inverse_stddev, scale, bias, dy, dscale, dbias});
  }
  if (!build.needs_gradient(0)) return;
  const BufferId dx = build.input_gradient(0);
  const BufferId read_x = s.activation == NormActivation::none ? kNoBuffer : x;  // by frozen statistics
  if (by_batch) build.emit(run_backward_input, s, {x, mean, inverse_stddev, scale, bias, dscale, dbias, dy, dx});
  else build.emit(run_backward_frozen, s, {read_x, mean, inverse_stddev, scale, bias, dy, dx});
  build.may_share(dx, dy);
}

}  // namespace

const OpRule kBatchNorm{OpKind::batch_norm, infer, flops, forward, backward};

}  // namespace coterie::ops
