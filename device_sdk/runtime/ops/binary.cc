// add, sub, mul, div, pow, minimum, maximum: a, b -> y, broadcast as in NumPy.
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/function_table.h"
#include "device_sdk/runtime/ops/registry.h"
#include "device_sdk/runtime/ops/strided.h"

namespace coterie::ops {
namespace {

using kernels::Binary;

constexpr Function<Binary> kFunctions[] = {
    {OpKind::add, Binary::add},         {OpKind::sub, Binary::sub}, {OpKind::mul, Binary::mul},
    {OpKind::div, Binary::div},         {OpKind::pow, Binary::pow}, {OpKind::minimum, Binary::minimum},
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
  bool is_elementwise;  // operands of one shape or a single number, and no sum

  Split split() const { return is_elementwise ? by_elements(loops.size[0]) : Split{}; }
};

// Some of the elements, and where the first of them is in each operand.
struct Part {
  kernels::BinaryLoops loops;
  std::array<ptrdiff_t, 3> at = {};
};

Part part_of(const Step& step) {
  const auto& s = step.as<Settings>();
  if (!s.is_elementwise) return {s.loops};
  Part part{s.loops.part(0, step.part.size())};
  for (size_t i = 0; i < 3; ++i) part.at[i] = s.loops.offset(i, 0, step.part.begin);
  return part;
}

const float* moved(const float* operand, ptrdiff_t by) { return operand == nullptr ? nullptr : operand + by; }

Settings settings_of(const OpBuild& build, size_t operand = 0) {
  const std::vector<size_t> a = sizes_of(build.input_shape(0)), b = sizes_of(build.input_shape(1));
  Settings s{Binary::add, operand, *kernels::broadcast_loops<2>({a, b}), false};
  s.is_elementwise = s.loops.rank == 1;
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

void describe_backward(const Settings& s, SettingsText& text) {
  describe(s, text);
  text.add("of operand", s.operand);
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [a, b, y] = step.take<3>();
  const auto& [loops, at] = part_of(step);
  context.kernels.binary_forward(s.function, loops, a + at[0], b + at[1], y + at[2]);
}

constexpr StepKindOf<Settings> kForwardStep{"binary.forward", run_forward, describe};

void run_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& [a, b, dy, gradient] = step.take<4>();
  const auto& [loops, at] = part_of(step);
  context.kernels.binary_backward(s.function, s.operand, loops, moved(a, at[0]), moved(b, at[1]), dy + at[2],
                                  gradient + at[s.operand]);
}

constexpr StepKindOf<Settings> kBackwardStep{"binary.backward", run_backward, describe_backward};

void run_add(const Step& step, const StepContext& context) {
  const auto [a, b, y] = step.slice<3>();
  context.kernels.add(step.part.size(), a, b, y);
}

constexpr StepKindOf<NoSettings> kAddStep{"add.forward", run_add};

void forward(OpBuild& build) {
  const BufferId a = build.input(0), b = build.input(1);
  const bool is_sum_of_equals = build.op().kind == OpKind::add && build.input_shape(0) == build.input_shape(1);
  if (!is_sum_of_equals) {
    const Settings s = settings_of(build);
    return build.emit(kForwardStep, s, {a, b, build.output()}, s.split());
  }
  build.emit(kAddStep, NoSettings{}, {a, b, build.output()}, by_elements(elements(build.output_shape())));
  build.may_share(build.output(), a);
  build.may_share(build.output(), b);
}

void backward_of(OpBuild& build, size_t operand) {
  if (!build.needs_gradient(operand)) return;
  Settings s = settings_of(build, operand);
  // The gradient of a single number is a sum over all elements, which has no parts.
  s.is_elementwise = s.is_elementwise && s.loops.stride[operand][0] != 0;
  const bool is_sum = s.function == Binary::add || s.function == Binary::sub;
  const bool is_whole = build.input_shape(operand) == build.output_shape();
  // The derivative is 1: the output's gradient is the operand's, without a copy.
  if (is_sum && is_whole && !(s.function == Binary::sub && operand == 1)) return build.pass_gradient(operand);
  // What the kernel does not read need not be kept.
  const bool is_product = s.function == Binary::mul;
  const BufferId a = is_sum || (is_product && operand == 0) ? kNoBuffer : build.input(0);
  const BufferId b = is_sum || (is_product && operand == 1) ? kNoBuffer : build.input(1);
  build.emit(kBackwardStep, s, {a, b, build.output_gradient(), build.input_gradient(operand)}, s.split());
}

void backward(OpBuild& build) {
  backward_of(build, 0);
  backward_of(build, 1);
}

constexpr auto kRules = rules_for(kFunctions, {{}, infer, flops_per_output, forward, backward});

}  // namespace

constinit const std::span<const OpRule> kBinary = kRules;

}  // namespace coterie::ops
