// add, sub, mul, div, pow, minimum, maximum: a, b -> y, broadcast as in NumPy.
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/function_table.h"
#include "device_sdk/runtime/ops/registry.h"
#include "device_sdk/runtime/ops/strided.h"

namespace coterie::ops {
namespace {

using kernels::Binary;

constexpr Function<Binary> kFunctions[] = {
    {OpKind::add, Binary::add},         {OpKind::sub, Binary::sub},         {OpKind::mul, Binary::mul},
    {OpKind::div, Binary::div},         {OpKind::pow, Binary::pow},         {OpKind::minimum, Binary::minimum},
    {OpKind::maximum, Binary::maximum},
};

Result<std::vector<TensorType>> infer(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}, {}}));
  COT_ASSIGN(Shape y, broadcast_shape({inputs[0].shape, inputs[1].shape}));
  return one_output(std::move(y));
}

struct Settings {
  Binary function;
  size_t operand;  // whose gradient
  kernels::BinaryLoops loops;
};

Settings settings_of(const OpBuild& build, size_t operand = 0) {
  const std::vector<size_t> a = sizes_of(build.input_shape(0)), b = sizes_of(build.input_shape(1));
  Settings s{Binary::add, operand, *kernels::broadcast_loops<2>({a, b})};
  for (const auto& function : kFunctions) {
    if (function.kind == build.op().kind) s.function = function.kernel;
  }
  return s;
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [a, b, y] = step.take<3>();
  context.kernels.binary_forward(s.function, s.loops, a, b, y);
}

void run_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [a, b, dy, gradient] = step.take<4>();
  context.kernels.binary_backward(s.function, s.operand, s.loops, a, b, dy, gradient);
}

struct NoSettings {};

void run_add(const Step& step, const StepContext& context) {
  const auto [a, b, y] = step.slice<3>();
  context.kernels.add(step.part.size(), a, b, y);
}

void forward(OpBuild& build) {
  const BufferId a = build.input(0), b = build.input(1);
  const bool is_sum_of_equals = build.op().kind == OpKind::add && build.input_shape(0) == build.input_shape(1);
  if (!is_sum_of_equals) return build.emit(run_forward, settings_of(build), {a, b, build.output()});
  build.emit(run_add, NoSettings{}, {a, b, build.output()}, by_elements(elements(build.output_shape())));
  build.may_share(build.output(), a);
  build.may_share(build.output(), b);
}

void backward_of(OpBuild& build, size_t operand) {
  if (!build.needs_gradient(operand)) return;
  const Settings s = settings_of(build, operand);
  const bool is_sum = s.function == Binary::add || s.function == Binary::sub;
  const bool is_whole = build.input_shape(operand) == build.output_shape();
  if (is_sum && is_whole && !(s.function == Binary::sub && operand == 1)) return build.pass_gradient(operand);
  // What the kernel does not read need not be kept.
  const bool is_product = s.function == Binary::mul;
  const BufferId a = is_sum || (is_product && operand == 0) ? kNoBuffer : build.input(0);
  const BufferId b = is_sum || (is_product && operand == 1) ? kNoBuffer : build.input(1);
  build.emit(run_backward, s, {a, b, build.output_gradient(), build.input_gradient(operand)});
}

void backward(OpBuild& build) {
  backward_of(build, 0);
  backward_of(build, 1);
}

constexpr auto kRules = rules_for(kFunctions, {{}, infer, flops_per_output, forward, backward});

}  // namespace

constinit const std::span<const OpRule> kBinary = kRules;

}  // namespace coterie::ops
