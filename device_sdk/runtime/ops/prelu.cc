// prelu: x[.., c], slope[c] or slope[1] -> y[.., c].
#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

using kernels::PreluShape;

Result<std::vector<TensorType>> infer(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}, {}}));
  COT_TRY(check_rank(inputs[0], "input", 1, 8));
  const Shape &x = inputs[0].shape, &slope = inputs[1].shape;
  if (slope != Shape{1} && slope != Shape{x.back()}) {
    return does_not_fit(concat({"slope ", to_text(slope), " does not fit an input of ", to_text(x)}));
  }
  return one_output(x);
}

PreluShape settings_of(const OpBuild& build) {
  const Shape& x = build.input_shape(0);
  const auto channels = static_cast<size_t>(x.back());
  return {.rows = elements(x, 0, x.size() - 1),
          .channels = channels,
          .stride = channels,
          .one_slope = build.input_shape(1)[0] == 1};
}

void describe(const PreluShape& s, SettingsText& text) { text.add(s.one_slope ? "one slope" : ""); }

void run_forward(const Step& step, const StepContext& context) {
  const auto& [x, slope, y] = step.take<3>();
  context.kernels.prelu_forward(step.as<PreluShape>(), x, slope, y);
}

constexpr StepKindOf<PreluShape> kForwardStep{"prelu.forward", run_forward, describe};

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& [x, slope, dy, dx] = step.take<4>();
  context.kernels.prelu_backward_input(step.as<PreluShape>(), x, slope, dy, dx);
}

constexpr StepKindOf<PreluShape> kBackwardInputStep{"prelu.backward_input", run_backward_input, describe};

void run_backward_slope(const Step& step, const StepContext& context) {
  const auto& [x, dy, dslope] = step.take<3>();
  context.kernels.prelu_backward_slope(step.as<PreluShape>(), x, dy, dslope);
}

constexpr StepKindOf<PreluShape> kBackwardSlopeStep{"prelu.backward_slope", run_backward_slope, describe};

void forward(OpBuild& build) {
  build.emit(kForwardStep, settings_of(build), {build.input(0), build.input(1), build.output()});
  build.may_share(build.output(), build.input(0));
}

void backward(OpBuild& build) {
  const PreluShape s = settings_of(build);
  const BufferId x = build.input(0), dy = build.output_gradient();
  if (build.needs_gradient(1)) build.emit(kBackwardSlopeStep, s, {x, dy, build.input_gradient(1)});
  if (!build.needs_gradient(0)) return;
  const BufferId dx = build.input_gradient(0);
  build.emit(kBackwardInputStep, s, {x, build.input(1), dy, dx});
  build.may_share(dx, dy);
}

}  // namespace

const OpRule kPrelu{OpKind::prelu, infer, flops_per_output, forward, backward};

}  // namespace coterie::ops
