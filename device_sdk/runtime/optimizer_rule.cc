#include "device_sdk/runtime/optimizer_rule.h"

#include <cmath>
#include <string>

#include "base/text/concat.h"
#include "device_sdk/runtime/kernels_in_build.h"
#include "device_sdk/runtime/muon_step.h"
#include "device_sdk/runtime/shampoo_step.h"
#include "device_sdk/runtime/tensor_norm.h"

namespace coterie {
namespace {

struct Settings {
  OptimizerSettings optimizer;
  float learning_rate_scale;
  size_t count;  // of the whole tensor

  float learning_rate(const StepContext& context) const {
    return static_cast<float>(context.optimizer.learning_rate * static_cast<double>(learning_rate_scale));
  }
};

float to_float(double value) { return static_cast<float>(value); }

void describe(const Settings& s, SettingsText& text) {
  text.add(to_string(s.optimizer.kind));
  if (s.optimizer.momentum != 0) text.add("momentum", static_cast<double>(s.optimizer.momentum));
  if (s.optimizer.weight_decay != 0) text.add("weight decay", static_cast<double>(s.optimizer.weight_decay));
  if (s.learning_rate_scale != 1) text.add("rate times", static_cast<double>(s.learning_rate_scale));
}

void run_sgd(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto [g, w, v] = step.slice<3>();
  const kernels::SgdStep sgd{s.learning_rate(context), s.optimizer.momentum, s.optimizer.weight_decay,
                             s.optimizer.nesterov};
  context.kernels.sgd_step(step.part.size(), sgd, g, w, v);
}

constexpr StepKindOf<Settings> kSgdStep{"update.sgd", run_sgd, describe};

void run_adam(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& o = s.optimizer;
  const auto [g, w, m, v] = step.slice<4>();
  const double rate = context.optimizer.learning_rate * static_cast<double>(s.learning_rate_scale);
  // Both corrections of Adam's algorithm 1 (Kingma and Ba 2015) are factors here, so that the kernel computes no
  // powers: w -= step_size m / (sqrt(v) v_scale + epsilon), where epsilon is added to the corrected root.
  const float step_size = to_float(rate / context.optimizer.correction1);
  const float v_scale = to_float(1 / std::sqrt(context.optimizer.correction2));
  if (o.kind == OptimizerKind::adam) {
    context.kernels.adam_step(step.part.size(), {o.beta1, o.beta2, o.epsilon, o.weight_decay, step_size, v_scale}, g, w,
                              m, v);
  } else {
    // Beside the moments, not through them (Loshchilov and Hutter 2019).
    const float decay = to_float(rate * static_cast<double>(o.weight_decay));
    context.kernels.adamw_step(step.part.size(), {o.beta1, o.beta2, o.epsilon, decay, step_size, v_scale}, g, w, m, v);
  }
}

constexpr StepKindOf<Settings> kAdamStep{"update.adam", run_adam, describe};

void run_adagrad(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto [g, w, sum] = step.slice<3>();
  context.kernels.adagrad_step(step.part.size(),
                               {s.learning_rate(context), s.optimizer.epsilon, s.optimizer.weight_decay}, g, w, sum);
}

constexpr StepKindOf<Settings> kAdagradStep{"update.adagrad", run_adagrad, describe};

void run_rmsprop(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& o = s.optimizer;
  const auto [g, w, v, b] = step.slice<4>();
  context.kernels.rmsprop_step(step.part.size(),
                               {s.learning_rate(context), o.smoothing, o.epsilon, o.weight_decay, o.momentum}, g, w, v,
                               b, nullptr);
}

constexpr StepKindOf<Settings> kRmspropStep{"update.rmsprop", run_rmsprop, describe};

void run_adadelta(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto [g, w, v, u] = step.slice<4>();
  const auto& o = s.optimizer;
  context.kernels.adadelta_step(step.part.size(), {s.learning_rate(context), o.smoothing, o.epsilon, o.weight_decay}, g,
                                w, v, u);
}

constexpr StepKindOf<Settings> kAdadeltaStep{"update.adadelta", run_adadelta, describe};

void run_lion(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto [g, w, m] = step.slice<3>();
  const auto& o = s.optimizer;
  context.kernels.lion_step(step.part.size(), {s.learning_rate(context), o.beta1, o.beta2, o.weight_decay}, g, w, m);
}

constexpr StepKindOf<Settings> kLionStep{"update.lion", run_lion, describe};

void run_lamb(const Step& step, const StepContext& context) {
  const auto& s = step.as<Settings>();
  const auto& o = s.optimizer;
  const auto& [g, w, m, v, direction, blocks] = step.take<6>();
  const kernels::LambStep lamb{o.beta1,
                               o.beta2,
                               o.epsilon,
                               o.weight_decay,
                               to_float(1 / context.optimizer.correction1),
                               to_float(1 / std::sqrt(context.optimizer.correction2))};
  context.kernels.lamb_direction(s.count, lamb, g, w, m, v, direction);
  const double w_norm = norm_of(context, s.count, w, blocks);
  const double u_norm = norm_of(context, s.count, direction, blocks);
  // The trust ratio (You et al. 2020, algorithm 2). Without the 1 a tensor of zeros would never move.
  const double ratio = w_norm > 0 && u_norm > 0 ? w_norm / u_norm : 1;
  context.kernels.add_scaled(s.count, to_float(-static_cast<double>(s.learning_rate(context)) * ratio), direction, w);
}

constexpr StepKindOf<Settings> kLambStep{"update.lamb", run_lamb, describe};

// -DCOTERIE_OPS_FROM leaves out what no list names: the kernels are null.
bool is_in_build(OptimizerKind kind) {
  const kernels::KernelTable& kernels = kernels::kernels();
  switch (kind) {
    case OptimizerKind::sgd: return true;
    case OptimizerKind::adam: return kernels.adam_step != nullptr;
    case OptimizerKind::adamw: return kernels.adamw_step != nullptr;
    case OptimizerKind::adagrad: return kernels.adagrad_step != nullptr;
    case OptimizerKind::rmsprop: return kernels.rmsprop_step != nullptr;
    case OptimizerKind::adadelta: return kernels.adadelta_step != nullptr;
    case OptimizerKind::lamb: return kernels.lamb_direction != nullptr;
    case OptimizerKind::lion: return kernels.lion_step != nullptr;
    case OptimizerKind::muon: return kernels.adamw_step != nullptr && kernels.matmul != nullptr;
    case OptimizerKind::shampoo:
      return kernels.adamw_step != nullptr && kernels.matmul != nullptr && kernels.inverse_fourth_root != nullptr;
  }
  return false;
}

// Both update linear maps by products, and the rest as adamw does.
constexpr bool kHasMuon = is_kernel_in_build("matmul") && is_kernel_in_build("adamw_step");
constexpr bool kHasShampoo = kHasMuon && is_kernel_in_build("inverse_fourth_root");

// What is no linear map of those that update linear maps as matrices.
bool leaves_rest_to_adamw(OptimizerKind kind) { return kind == OptimizerKind::muon || kind == OptimizerKind::shampoo; }

}  // namespace

uint32_t optimizer_slots(const OptimizerSettings& settings) {
  switch (settings.kind) {
    case OptimizerKind::sgd: return settings.momentum != 0 ? 1 : 0;
    case OptimizerKind::rmsprop: return settings.momentum != 0 ? 2 : 1;
    case OptimizerKind::adagrad:
    case OptimizerKind::lion: return 1;
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
    case OptimizerKind::adadelta:
    case OptimizerKind::lamb:
    case OptimizerKind::muon:
    case OptimizerKind::shampoo: return 2;
  }
  return 0;
}

uint64_t factor_values(const OptimizerSettings& settings, const UpdatedMatrix& matrix) {
  if (!kHasShampoo || settings.kind != OptimizerKind::shampoo || !matrix.is_linear_map()) return 0;
  return shampoo_factor_values({matrix.rows, matrix.columns});
}

OptimizerMoment optimizer_moment(const OptimizerSettings& s, uint64_t step, double learning_rate_factor) {
  const double t = static_cast<double>(step);
  return {.learning_rate = static_cast<double>(s.learning_rate) * learning_rate_factor,
          .correction1 = 1 - std::pow(static_cast<double>(s.beta1), t),
          .correction2 = 1 - std::pow(static_cast<double>(s.beta2), t),
          .step = step};
}

Status check_optimizer(const OptimizerSettings& s) {
  if (to_string(s.kind) == "unknown") return Error(ErrorCode::invalid_argument, "the optimizer is unknown");
  if (!is_in_build(s.kind)) {
    return Error(ErrorCode::invalid_argument, concat({"this build has no optimizer ", to_string(s.kind)}));
  }
  for (const float number : {s.learning_rate, s.momentum, s.weight_decay, s.beta1, s.beta2, s.epsilon, s.smoothing}) {
    if (!std::isfinite(number)) return Error(ErrorCode::invalid_argument, "an optimizer setting is not finite");
  }
  const bool has_betas = s.kind == OptimizerKind::adam || s.kind == OptimizerKind::adamw ||
                         s.kind == OptimizerKind::lamb || s.kind == OptimizerKind::lion || leaves_rest_to_adamw(s.kind);
  if (has_betas && (s.beta1 < 0 || s.beta1 >= 1 || s.beta2 < 0 || s.beta2 >= 1)) {
    return Error(ErrorCode::invalid_argument, "beta1 and beta2 must be in [0, 1)");
  }
  const bool smooths = s.kind == OptimizerKind::rmsprop || s.kind == OptimizerKind::adadelta;
  if (smooths && (s.smoothing < 0 || s.smoothing >= 1)) {
    return Error(ErrorCode::invalid_argument, "smoothing must be in [0, 1)");
  }
  return {};
}

void emit_update(Program& program, Phase phase, const OptimizerSettings& settings, float learning_rate_scale,
                 const UpdatedMatrix& matrix, const UpdateBuffers& b) {
  const uint64_t count = matrix.rows * matrix.columns;
  if (kHasMuon && settings.kind == OptimizerKind::muon && matrix.is_linear_map()) {
    return emit_muon(program, phase, settings, learning_rate_scale, {matrix.rows, matrix.columns},
                     {b.gradient, b.values, b.slot0});
  }
  if (kHasShampoo && settings.kind == OptimizerKind::shampoo && matrix.is_linear_map()) {
    return emit_shampoo(program, phase, settings, learning_rate_scale, {matrix.rows, matrix.columns},
                        {b.gradient, b.values, b.factors});
  }
  Settings s{settings, learning_rate_scale, count};
  if (leaves_rest_to_adamw(settings.kind)) s.optimizer.kind = OptimizerKind::adamw;
  const Split split = by_elements(count);
  // check_optimizer() has refused what this build has not.
  switch (s.optimizer.kind) {
    case OptimizerKind::sgd: return program.emit(phase, kSgdStep, s, {b.gradient, b.values, b.slot0}, split);
    case OptimizerKind::muon:
    case OptimizerKind::shampoo:
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      if constexpr (is_kernel_in_build("adam_step") || is_kernel_in_build("adamw_step")) {
        program.emit(phase, kAdamStep, s, {b.gradient, b.values, b.slot0, b.slot1}, split);
      }
      return;
    case OptimizerKind::adagrad:
      if constexpr (is_kernel_in_build("adagrad_step")) {
        program.emit(phase, kAdagradStep, s, {b.gradient, b.values, b.slot0}, split);
      }
      return;
    case OptimizerKind::rmsprop:
      if constexpr (is_kernel_in_build("rmsprop_step")) {
        program.emit(phase, kRmspropStep, s, {b.gradient, b.values, b.slot0, b.slot1}, split);
      }
      return;
    case OptimizerKind::adadelta:
      if constexpr (is_kernel_in_build("adadelta_step")) {
        program.emit(phase, kAdadeltaStep, s, {b.gradient, b.values, b.slot0, b.slot1}, split);
      }
      return;
    case OptimizerKind::lion:
      if constexpr (is_kernel_in_build("lion_step")) {
        program.emit(phase, kLionStep, s, {b.gradient, b.values, b.slot0}, split);
      }
      return;
    case OptimizerKind::lamb:
      if constexpr (is_kernel_in_build("lamb_direction")) {
        // No split: both norms are of the whole tensor, and must be there before a value changes.
        const BufferId direction = program.add_planned(count * sizeof(float));
        const BufferId blocks = add_norm_blocks(program, count);
        program.emit(phase, kLambStep, s, {b.gradient, b.values, b.slot0, b.slot1, direction, blocks});
      }
      return;
  }
}

}  // namespace coterie
