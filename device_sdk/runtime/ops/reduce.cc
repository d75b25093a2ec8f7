// reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_l2: x -> y over some axes, which stay as 1 or are left out.
#include <array>

#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/function_table.h"
#include "device_sdk/runtime/ops/registry.h"
#include "device_sdk/runtime/ops/strided.h"

namespace coterie::ops {
namespace {

using kernels::Reduction;

constexpr Function<Reduction> kFunctions[] = {
    {OpKind::reduce_sum, Reduction::sum}, {OpKind::reduce_mean, Reduction::mean}, {OpKind::reduce_max, Reduction::max},
    {OpKind::reduce_min, Reduction::min}, {OpKind::reduce_l2, Reduction::l2},
};

Result<std::vector<TensorType>> infer(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}}));
  COT_TRY(check_rank(inputs[0], "input", 1, 8));
  const auto& a = std::get<ReduceAttributes>(op.attributes);
  const Shape& x = inputs[0].shape;
  if (a.axes.empty()) return does_not_fit("must reduce at least one axis");
  Shape y = x;
  int64_t end = static_cast<int64_t>(x.size());
  // From the last one: what is erased moves none of those that are still to come.
  for (size_t i = a.axes.size(); i-- > 0;) {
    const int64_t axis = a.axes[i];
    if (axis < 0 || axis >= end) {
      return does_not_fit(concat({"axis ", axis, " is not one of ", to_text(x), ", or out of order"}));
    }
    if (a.keep_dimensions) y[static_cast<size_t>(axis)] = 1;
    else y.erase(y.begin() + axis);
    end = axis;
  }
  return one_output(std::move(y));
}

double flops(const OpInfo&, std::span<const Operand> inputs, std::span<const TensorType>) {
  return static_cast<double>(elements(inputs[0].shape));
}

struct Settings {
  Reduction function;
  kernels::ReductionLoops loops;
};

Settings settings_of(const OpBuild& build) {
  const std::vector<size_t> x = sizes_of(build.input_shape(0));
  std::array<bool, kernels::kRankMax> is_reduced{};
  for (const int64_t axis : build.attributes<ReduceAttributes>().axes) is_reduced[static_cast<size_t>(axis)] = true;
  Settings s{Reduction::sum, kernels::reduction_loops(x, std::span(is_reduced).first(x.size()))};
  for (const auto& function : kFunctions) {
    if (function.kind == build.op().kind) s.function = function.kernel;
  }
  return s;
}

void describe(const Settings& s, SettingsText& text) {
  for (const auto& function : kFunctions) {
    if (function.kernel == s.function) text.add(to_string(function.kind));
  }
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, y] = step.take<2>();
  context.kernels.reduce_forward(s.function, s.loops, x, y);
}

constexpr StepKindOf<Settings> kForwardStep{"reduce.forward", run_forward, describe};

void run_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [x, y, dy, dx] = step.take<4>();
  context.kernels.reduce_backward(s.function, s.loops, x, y, dy, dx);
}

constexpr StepKindOf<Settings> kBackwardStep{"reduce.backward", run_backward, describe};

void forward(OpBuild& build) { build.emit(kForwardStep, settings_of(build), {build.input(0), build.output()}); }

void backward(OpBuild& build) {
  const Settings s = settings_of(build);
  // Gradients of sums and means do not depend on values: x and y then need not be kept.
  const bool reads_values = s.function != Reduction::sum && s.function != Reduction::mean;
  const BufferId x = reads_values ? build.input(0) : kNoBuffer, y = reads_values ? build.output() : kNoBuffer;
  build.emit(kBackwardStep, s, {x, y, build.output_gradient(), build.input_gradient(0)});
}

constexpr auto kRules = rules_for(kFunctions, {{}, infer, flops, forward, backward});

}  // namespace

constinit const std::span<const OpRule> kReduce = kRules;

}  // namespace coterie::ops
