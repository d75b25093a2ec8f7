// The functions of one variable: x -> y of any shape. What each computes: train_kernels/unary.h.
#include "train_kernels/unary.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/function_table.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

using kernels::DerivativeReads;
using kernels::Unary;
using kernels::UnaryOp;

constexpr Function<Unary> kFunctions[] = {
    {OpKind::relu6, Unary::relu6},
    {OpKind::leaky_relu, Unary::leaky_relu},
    {OpKind::elu, Unary::elu},
    {OpKind::gelu, Unary::gelu_erf},
    {OpKind::gelu_tanh, Unary::gelu_tanh},
    {OpKind::sigmoid, Unary::sigmoid},
    {OpKind::hard_sigmoid, Unary::hard_sigmoid},
    {OpKind::hard_swish, Unary::hard_swish},
    {OpKind::swish, Unary::swish},
    {OpKind::tanh, Unary::tanh},
    {OpKind::softplus, Unary::softplus},
    {OpKind::clip, Unary::clip},
    {OpKind::sqrt, Unary::sqrt},
    {OpKind::exp, Unary::exp},
    {OpKind::log, Unary::log},
    {OpKind::abs, Unary::abs},
    {OpKind::neg, Unary::neg},
    {OpKind::reciprocal, Unary::reciprocal},
    {OpKind::erf, Unary::erf},
};

// SELU is this ELU times kSeluGain (Klambauer et al., 2017; the numbers are those of ONNX and PyTorch).
constexpr UnaryOp kSeluInside{.kind = Unary::elu, .alpha = 1.6732632423543772f};
constexpr float kSeluGain = 1.0507009873554805f;

Result<std::vector<TensorType>> infer(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_inputs(inputs, {{}}));
  return one_output(inputs[0].shape);
}

struct Settings {
  UnaryOp op;
};

Settings settings_of(const OpBuild& build) {
  Settings s{kSeluInside};
  for (const auto& function : kFunctions) {
    if (function.kind == build.op().kind) s.op = {.kind = function.kernel};
  }
  if (const auto* a = std::get_if<UnaryAttributes>(&build.op().attributes)) {
    s.op.alpha = a->alpha;
    s.op.beta = a->beta;
  }
  return s;
}

Split split_of(const OpBuild& build) { return by_elements(elements(build.output_shape())); }

void describe(const Settings& s, SettingsText& text) {
  for (const auto& function : kFunctions) {
    if (function.kernel == s.op.kind) text.add(to_string(function.kind));
  }
  text.add("alpha", static_cast<double>(s.op.alpha)).add("beta", static_cast<double>(s.op.beta));
}

void run_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto [x, y] = step.slice<2>();
  context.kernels.unary_forward(s.op, step.part.size(), x, y);
}

constexpr StepKindOf<Settings> kForwardStep{"unary.forward", run_forward, describe};

void run_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto [saved, dy, dx] = step.slice<3>();
  context.kernels.unary_backward(s.op, step.part.size(), saved, dy, dx);
}

constexpr StepKindOf<Settings> kBackwardStep{"unary.backward", run_backward, describe};

// Only a ReLU6 is ever applied or undone by the op in front.
void forward(OpBuild& build) {
  if (build.is_applied_by_producer()) return build.output_is_input();
  build.emit(kForwardStep, settings_of(build), {build.input(0), build.output()}, split_of(build));
  build.may_share(build.output(), build.input(0));
}

void backward(OpBuild& build) {
  if (build.is_undone_by_producer()) return build.pass_gradient(0);
  const Settings s = settings_of(build);
  const DerivativeReads reads = kernels::derivative_reads(s.op);
  BufferId saved = kNoBuffer;
  if (reads == DerivativeReads::x) saved = build.input(0);
  if (reads == DerivativeReads::y) saved = build.output();
  const BufferId dy = build.output_gradient(), dx = build.input_gradient(0);
  build.emit(kBackwardStep, s, {saved, dy, dx}, split_of(build));
  build.may_share(dx, dy);
  if (saved != kNoBuffer) build.may_share(dx, saved);
}

void run_selu_forward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto [x, y] = step.slice<2>();
  context.kernels.unary_forward(s.op, step.part.size(), x, y);
  context.kernels.scale_in_place(step.part.size(), kSeluGain, y);
}

constexpr StepKindOf<Settings> kSeluForwardStep{"selu.forward", run_selu_forward};

// The derivative reads the ELU's own result, which is made again in dx.
void run_selu_backward(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto [x, dy, dx] = step.slice<3>();
  context.kernels.unary_forward(s.op, step.part.size(), x, dx);
  context.kernels.unary_backward(s.op, step.part.size(), dx, dy, dx);
  context.kernels.scale_in_place(step.part.size(), kSeluGain, dx);
}

constexpr StepKindOf<Settings> kSeluBackwardStep{"selu.backward", run_selu_backward};

void forward_selu(OpBuild& build) {
  build.emit(kSeluForwardStep, settings_of(build), {build.input(0), build.output()}, split_of(build));
  build.may_share(build.output(), build.input(0));
}

void backward_selu(OpBuild& build) {
  const BufferId dy = build.output_gradient(), dx = build.input_gradient(0);
  build.emit(kSeluBackwardStep, settings_of(build), {build.input(0), dy, dx}, split_of(build));
  build.may_share(dx, build.input(0));
}

constexpr auto kRules = rules_for(kFunctions, {{}, infer, flops_per_output, forward, backward});

}  // namespace

constinit const std::span<const OpRule> kUnary = kRules;
const OpRule kSelu{OpKind::selu, infer, flops_per_output, forward_selu, backward_selu};

}  // namespace coterie::ops
