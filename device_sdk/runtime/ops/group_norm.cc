// group_norm: x[b, .., c], scale[c], bias[c] -> y[b, .., c], normalised over an example's positions and a group's
// channels.
#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

using kernels::GroupNormShape;

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}, {}, {}}));
  COT_TRY(check_rank(inputs[0], "input (batch x .. x channels)", 2, 8));
  const auto& a = std::get<NormAttributes>(op.attributes);
  const Shape& x = inputs[0].shape;
  if (a.groups < 1 || x.back() % a.groups != 0) {
    return does_not_fit(concat({"groups ", a.groups, " do not divide ", x.back(), " channels"}));
  }
  if (!(a.epsilon >= 0)) return does_not_fit("epsilon must be at least 0");
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].shape != Shape{x.back()}) {
      return does_not_fit(
          concat({"input ", i, " is ", to_text(inputs[i].shape), ", must have ", x.back(), " channels"}));
    }
  }
  return one_output(x);
}

double flops(const OpInfo&, std::span<const Operand>, std::span<const TensorType> outputs) {
  return 6.0 * static_cast<double>(elements(outputs[0].shape));
}

constexpr size_t kColumnGrain = 64;  // columns that the kernels sum at a time

struct Settings {
  GroupNormShape shape;
  float epsilon;

  size_t image() const { return shape.positions * shape.channels; }
  GroupNormShape of(const kernels::Range& images) const {
    return {images.size(), shape.positions, shape.channels, shape.groups};
  }
};

Settings settings_of(const OpBuild& build) {
  const auto& a = build.attributes<NormAttributes>();
  const Shape& x = build.input_shape(0);
  return {{.batch = static_cast<size_t>(x[0]),
           .positions = elements(x, 1, x.size() - 1),
           .channels = static_cast<size_t>(x.back()),
           .groups = a.groups},
          a.epsilon};
}

void describe(const Settings& s, SettingsText& text) {
  text.add("groups", s.shape.groups).add("epsilon", static_cast<double>(s.epsilon));
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, scale, bias, y, mean, inverse_stddev] = step.take<6>();
  const size_t at = step.part.begin * s.image(), group = step.part.begin * s.shape.groups;
  context.kernels.group_norm_forward(s.of(step.part), x + at, scale, bias, s.epsilon, y + at, mean + group,
                                     inverse_stddev + group);
}

constexpr StepKindOf<Settings> kForwardStep{"group_norm.forward", run_forward, describe};

void run_backward_input(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, scale, mean, inverse_stddev, dy, dx] = step.take<6>();
  const size_t at = step.part.begin * s.image(), group = step.part.begin * s.shape.groups;
  context.kernels.group_norm_backward_input(s.of(step.part), x + at, scale, mean + group, inverse_stddev + group,
                                            dy + at, dx + at);
}

constexpr StepKindOf<Settings> kBackwardInputStep{"group_norm.backward_input", run_backward_input, describe};

void run_backward_parameters(const Step& step, const StepContext& context) {
  const GroupNormShape& shape = step.as<Settings>().shape;
  const auto& [x, mean, inverse_stddev, dy, dscale, dbias] = step.take<6>();
  context.kernels.group_norm_backward_parameters(shape, step.part.begin, step.part.end, x, mean, inverse_stddev, dy,
                                                 dscale, dbias);
}

constexpr StepKindOf<Settings> kBackwardParametersStep{"group_norm.backward_parameters", run_backward_parameters,
                                                       describe};

void forward(OpBuild& build) {
  const Settings s = settings_of(build);
  const uint64_t bytes = s.shape.batch * s.shape.groups * sizeof(float);
  const BufferId mean = build.save(bytes), inverse_stddev = build.save(bytes);
  build.emit(kForwardStep, s, {build.input(0), build.input(1), build.input(2), build.output(), mean, inverse_stddev},
             build.split(s.shape.batch));
  build.may_share(build.output(), build.input(0));
}

// The kernel makes both parameters' gradients together; one that nobody needs goes to scratch memory.
void emit_backward_parameters(OpBuild& build, const Settings& s, BufferId dy) {
  BufferId dscale = build.input_gradient(1), dbias = build.input_gradient(2);
  const uint64_t bytes = s.shape.channels * sizeof(float);
  if (dscale == kNoBuffer) dscale = build.scratch(bytes);
  if (dbias == kNoBuffer) dbias = build.scratch(bytes);
  // Parts are ranges of channels: each sums its own over all examples and positions, in their order.
  build.emit(kBackwardParametersStep, s, {build.input(0), build.saved(0), build.saved(1), dy, dscale, dbias},
             build.split(s.shape.channels, kColumnGrain));
}

void backward(OpBuild& build) {
  const Settings s = settings_of(build);
  const BufferId dy = build.output_gradient();
  if (build.needs_gradient(1) || build.needs_gradient(2)) emit_backward_parameters(build, s, dy);
  if (!build.needs_gradient(0)) return;
  const BufferId dx = build.input_gradient(0);
  build.emit(kBackwardInputStep, s, {build.input(0), build.input(1), build.saved(0), build.saved(1), dy, dx},
             build.split(s.shape.batch));
  build.may_share(dx, dy);
}

}  // namespace

const OpRule kGroupNorm{OpKind::group_norm, infer, flops, forward, backward};

}  // namespace coterie::ops
