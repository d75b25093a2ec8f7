#include "device_sdk/runtime/optimizer_rule.h"

#include <cmath>

namespace coterie {
namespace {

struct SgdSettings {
  kernels::SgdStep step;
  size_t count;
};

struct AdamSettings {
  size_t count;
};

void run_sgd(const Step& step, const StepContext& context) {
  const auto& s = step.as<SgdSettings>();
  const auto& [g, w, v] = step.take<3>();
  context.kernels.sgd_step(s.count, s.step, g, w, v);
}

void run_adam(const Step& step, const StepContext& context) {
  const auto& [g, w, m, v] = step.take<4>();
  context.kernels.adam_step(step.as<AdamSettings>().count, context.adam, g, w, m, v);
}

}  // namespace

uint32_t optimizer_slots(const OptimizerSettings& settings) {
  if (settings.kind == OptimizerKind::adam) return 2;
  return settings.momentum != 0 ? 1 : 0;
}

kernels::AdamStep adam_step_at(const OptimizerSettings& s, uint64_t step) {
  const double t = static_cast<double>(step);
  const double correction1 = 1 - std::pow(static_cast<double>(s.beta1), t);
  const double correction2 = 1 - std::pow(static_cast<double>(s.beta2), t);
  return {.beta1 = s.beta1,
          .beta2 = s.beta2,
          .epsilon = s.epsilon,
          .weight_decay = s.weight_decay,
          .step_size = static_cast<float>(static_cast<double>(s.learning_rate) / correction1),
          .v_scale = static_cast<float>(1 / std::sqrt(correction2))};
}

Status check_optimizer(const OptimizerSettings& s) {
  if (s.kind != OptimizerKind::sgd && s.kind != OptimizerKind::adam) {
    return Error(ErrorCode::invalid_argument, "the optimizer must be sgd or adam");
  }
  for (const float number : {s.learning_rate, s.momentum, s.weight_decay, s.beta1, s.beta2, s.epsilon}) {
    if (!std::isfinite(number)) return Error(ErrorCode::invalid_argument, "an optimizer setting is not finite");
  }
  if (s.kind == OptimizerKind::adam && (s.beta1 < 0 || s.beta1 >= 1 || s.beta2 < 0 || s.beta2 >= 1)) {
    return Error(ErrorCode::invalid_argument, "beta1 and beta2 must be in [0, 1)");
  }
  return {};
}

void emit_update(Program& program, Phase phase, const OptimizerSettings& settings, uint64_t count, BufferId gradient,
                 BufferId values, BufferId slot0, BufferId slot1) {
  if (settings.kind == OptimizerKind::adam) {
    program.emit(phase, run_adam, AdamSettings{count}, {gradient, values, slot0, slot1});
    return;
  }
  const kernels::SgdStep step{settings.learning_rate, settings.momentum, settings.weight_decay};
  program.emit(phase, run_sgd, SgdSettings{step, count}, {gradient, values, slot0});
}

}  // namespace coterie
