#include "scheduler/job/correction_rules.h"

#include <string>

namespace coterie {

DriftCorrection correction_of(const StrategySettings& strategy) {
  if (strategy.rule->correction == CorrectionKind::none) return {};
  const CorrectionKind kind = strategy.rule->correction;
  StrategySettings settings = strategy;
  if (kind == CorrectionKind::scaffold && settings.value_of("option") == 1) {
    return {.kind = CorrectionKind::scaffold_gradient};
  }
  if (kind != CorrectionKind::feddyn) return {.kind = kind};
  return {.kind = kind, .alpha = settings.value_of("alpha")};
}

namespace {

// The same as of any plan (proto/messages/training_rules.h), which sees the correction and not the strategy.
void check_training(const TrainingSettings& training, CorrectionKind kind, const std::string& name,
                    SettingsChecker& check) {
  if (kind == CorrectionKind::feddyn) {
    check.require(training.proximal_mu == 0, "/training/proximal_mu",
                  "must be 0 with " + name + ": its alpha pulls towards the given model already");
  }
  if (kind == CorrectionKind::scaffold) {
    check.require(training.proximal_mu == 0, "/training/proximal_mu",
                  "must be 0 with " + name + ": its control would hold the pull towards models of before");
    check.require(training.optimizer.kind == OptimizerKind::sgd, "/training/optimizer/kind",
                  "must be sgd with " + name + ": from steps of others nobody can tell the mean of the gradients");
    check.require(training.optimizer.momentum == 0, "/training/optimizer/momentum",
                  "must be 0 with " + name + ": with momentum the steps are not the mean of the gradients");
  }
  if (kind == CorrectionKind::mime_lite) {
    check.require(training.optimizer.kind == OptimizerKind::sgd, "/training/optimizer/kind",
                  "must be sgd with " + name + ": its momentum is added to gradients, which others scale");
    check.require(
        training.optimizer.momentum == 0, "/training/optimizer/momentum",
        "must be 0 with " + name + ": strategy.momentum is the server's, and the same in all steps of a round");
    check.require(training.optimizer.weight_decay == 0, "/training/optimizer/weight_decay",
                  "must be 0 with " + name + ": the momentum has no part of the decay");
  }
}

// Server and devices have to move by the same.
void check_state(const HorizontalSettings& settings, const std::string& name, SettingsChecker& check) {
  StrategySettings strategy = settings.strategy;
  const auto population = static_cast<double>(strategy.value_of("population_size"));
  check.require(population >= settings.rounds.goal_count, "/strategy/population_size",
                "must say how many devices the population has, at least goal_count: " + name +
                    " moves its state by the share of them that a round counts");
  check.require(settings.update.weight_max == 1, "/update/weight_max",
                "must be 1 with " + name + ": its state is the plain mean of what devices keep, whatever they have");
}

}  // namespace

void check_correction(const HorizontalSettings& settings, SettingsChecker& check) {
  const CorrectionKind kind = settings.strategy.rule->correction;
  if (kind == CorrectionKind::none) return;
  const std::string name = settings.strategy.rule->name;
  const bool has_state = keeps_state(kind);
  if (has_state) check_state(settings, name, check);
  check_training(settings.training, correction_of(settings.strategy).kind, name, check);
  check.require(settings.training.normalised_steps == 0, "/training/normalised_steps",
                "must be 0 with " + name +
                    (has_state ? ": its state has to move by what training came to"
                               : ": its steps are not those of the device's gradients alone"));
  check.require(!settings.privacy.has_noise(), "/strategy/kind",
                name +
                    " does not go with noise: its state would add up the noise of all rounds, and no device's takes "
                    "it off; take fedavg, fedavgm or fedadam");
  check.require(!settings.update.compression.is_on(), "/update/compression",
                "must be absent with " + name +
                    (has_state ? ": its state has to move by what devices keep, not by what was left of it"
                               : ": the grid is made for updates, and gradients are of another size"));
  check.require(!settings.aggregation.keeps_updates(), "/aggregation/rule",
                "must be mean with " + name +
                    (has_state ? ": its state is the mean of what all devices keep"
                               : ": its momentum is of the mean of all gradients"));
  check.require(!settings.training.personal, "/training/personal",
                "must be absent with " + name +
                    (has_state ? ": a device keeps one vector of a job, and that one has it already"
                               : ": gradients at the given model are not those of a model with parts of its own"));
  check.require(settings.training.correction == DriftCorrection{}, "/training/correction",
                "must be absent: the strategy says it");
}

}  // namespace coterie
