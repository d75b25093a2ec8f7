// layer_norm: x, scale, bias -> y, over the last `axes` dimensions; rms_norm: x, scale -> y. Scale and bias have the
// shape of those dimensions, and may be absent.
#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  constexpr InputRule kOptional{.is_optional = true};
  const bool has_bias = op.kind == OpKind::layer_norm;
  COT_TRY(has_bias ? check_inputs(inputs, {{}, kOptional, kOptional}) : check_inputs(inputs, {{}, kOptional}));
  const auto& a = std::get<NormAttributes>(op.attributes);
  const Shape& x = inputs[0].shape;
  if (a.axes < 1 || a.axes > x.size()) {
    return does_not_fit(concat({"normalises ", a.axes, " of ", x.size(), " dimensions"}));
  }
  if (!(a.epsilon >= 0)) return does_not_fit("epsilon must be at least 0");
  const Shape normalised(x.end() - a.axes, x.end());
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].is_present && inputs[i].shape != normalised) {
      return does_not_fit(concat({"input ", i, " is ", to_text(inputs[i].shape), ", must be ", to_text(normalised)}));
    }
  }
  return one_output(x);
}

double flops(const OpInfo&, std::span<const Operand>, std::span<const TensorType> outputs) {
  return 6.0 * static_cast<double>(elements(outputs[0].shape));
}

constexpr size_t kColumnGrain = 64;  // columns that the kernels sum at a time

struct Settings {
  size_t rows, features;
  float epsilon;
};

Settings settings_of(const OpBuild& build) {
  const auto& a = build.attributes<NormAttributes>();
  const Shape& x = build.input_shape(0);
  const size_t first = x.size() - a.axes;
  return {elements(x, 0, first), elements(x, first, x.size()), a.epsilon};
}

void describe(const Settings& s, SettingsText& text) {
  text.add("features", s.features).add("epsilon", static_cast<double>(s.epsilon));
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, scale, bias, y, mean, inverse_stddev] = step.take<6>();
  const size_t row = step.part.begin, at = row * s.features;
  context.kernels.layer_norm_forward(step.part.size(), s.features, x + at, scale, bias, s.epsilon, y + at,
                                     mean == nullptr ? nullptr : mean + row, inverse_stddev + row);
}

constexpr StepKindOf<Settings> kForwardStep{"layer_norm.forward", run_forward, describe};

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, scale, mean, inverse_stddev, dy, dx] = step.take<6>();
  const size_t row = step.part.begin, at = row * s.features;
  context.kernels.layer_norm_backward_input(step.part.size(), s.features, x + at, scale,
                                            mean == nullptr ? nullptr : mean + row, inverse_stddev + row, dy + at,
                                            dx + at);
}

constexpr StepKindOf<Settings> kBackwardInputStep{"layer_norm.backward_input", run_backward_input, describe};

void run_backward_parameters(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, mean, inverse_stddev, dy, dscale, dbias] = step.take<6>();
  const size_t at = step.part.begin;
  context.kernels.layer_norm_backward_parameters(s.rows, step.part.size(), s.features, x + at, mean, inverse_stddev,
                                                 dy + at, dscale == nullptr ? nullptr : dscale + at,
                                                 dbias == nullptr ? nullptr : dbias + at);
}

constexpr StepKindOf<Settings> kBackwardParametersStep{"layer_norm.backward_parameters", run_backward_parameters,
                                                       describe};

// To the kernels a mean that is absent means RMS.
void forward(OpBuild& build) {
  const Settings s = settings_of(build);
  const uint64_t bytes = s.rows * sizeof(float);
  const BufferId inverse_stddev = build.save(bytes);
  const BufferId mean = build.op().kind == OpKind::layer_norm ? build.save(bytes) : kNoBuffer;
  build.emit(kForwardStep, s, {build.input(0), build.input(1), build.input(2), build.output(), mean, inverse_stddev},
             build.split(s.rows));
  build.may_share(build.output(), build.input(0));
}

void backward(OpBuild& build) {
  const Settings s = settings_of(build);
  const BufferId x = build.input(0), dy = build.output_gradient(), inverse_stddev = build.saved(0);
  const BufferId mean = build.op().kind == OpKind::layer_norm ? build.saved(1) : kNoBuffer;
  // Parts are ranges of features: each sums its own over all rows, in their order, so that threads change no bit.
  if (build.needs_gradient(1) || build.needs_gradient(2)) {
    build.emit(kBackwardParametersStep, s,
               {x, mean, inverse_stddev, dy, build.input_gradient(1), build.input_gradient(2)},
               build.split(s.features, kColumnGrain));
  }
  if (!build.needs_gradient(0)) return;
  const BufferId dx = build.input_gradient(0);
  build.emit(kBackwardInputStep, s, {x, build.input(1), mean, inverse_stddev, dy, dx}, build.split(s.rows));
  build.may_share(dx, dy);
}

}  // namespace

const OpRule kLayerNorm{OpKind::layer_norm, infer, flops, forward, backward};
const OpRule kRmsNorm{OpKind::rms_norm, infer, flops, forward, backward};

}  // namespace coterie::ops
