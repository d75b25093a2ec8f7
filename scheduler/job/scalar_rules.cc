#include "scheduler/job/scalar_rules.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "proto/messages/watch_lanes.h"
#include "scheduler/job/cluster_rules.h"
#include "scheduler/job/width_rules.h"

namespace coterie {
namespace {

constexpr float kFairStepMax = 1024;

float bound_of(ScalarKind kind, const HorizontalSettings& settings) {
  StrategySettings strategy = settings.strategy;
  switch (kind) {
    case ScalarKind::squared_norm: {
      const float clip = settings.update.clip_l2;
      const float norm = clip > 0 ? std::min(clip, strategy.value_of("norm_max")) : strategy.value_of("norm_max");
      return std::clamp(norm * norm, 1e-12f, kScalarBoundMax);
    }
    case ScalarKind::fair_step: return kFairStepMax;
    case ScalarKind::cluster_member:
    case ScalarKind::group_member:
    case ScalarKind::width_holder:
    case ScalarKind::watch_hit: return 1;
    case ScalarKind::group_loss: return strategy.value_of("loss_max");
  }
  return 0;
}

// How often a strategy that asks for this has it told.
size_t count_of(ScalarKind kind, StrategySettings strategy) {
  const bool is_of_groups = kind == ScalarKind::group_member || kind == ScalarKind::group_loss;
  return is_of_groups ? static_cast<size_t>(strategy.value_of("groups")) : 1;
}

bool tells_a_loss(const StrategyRule& rule) {
  return std::ranges::any_of(
      rule.scalars, [](ScalarKind kind) { return kind == ScalarKind::fair_step || kind == ScalarKind::group_loss; });
}

}  // namespace

std::vector<ScalarRule> scalars_of(const HorizontalSettings& settings) {
  std::vector<ScalarRule> scalars;
  for (const ScalarKind kind : settings.strategy.rule->scalars) {
    scalars.insert(scalars.end(), count_of(kind, settings.strategy), {kind, bound_of(kind, settings)});
  }
  for (const ScalarRule& scalar : cluster_scalars(settings.training)) scalars.push_back(scalar);
  for (const ScalarRule& scalar : width_scalars(settings.training)) scalars.push_back(scalar);
  if (settings.training.watch) {
    for (const ScalarRule& lane : watch_scalars(named_checks(*settings.training.watch))) scalars.push_back(lane);
  }
  return scalars;
}

FairWeight fair_weight_of(const StrategySettings& strategy) {
  if (std::ranges::find(strategy.rule->scalars, ScalarKind::fair_step) == strategy.rule->scalars.end()) return {};
  StrategySettings settings = strategy;
  return {.q = settings.value_of("q"), .loss_max = settings.value_of("loss_max")};
}

void check_scalars(const HorizontalSettings& settings, SettingsChecker& check) {
  const StrategyRule& rule = *settings.strategy.rule;
  if (rule.scalars.empty()) return;
  const std::string name = rule.name;
  check.require(!settings.privacy.has_noise(), "/strategy/kind",
                name +
                    " does not go with noise: the clip and the account are of updates, and its scalars are none; take "
                    "fedavg, fedavgm or fedadam");
  check.require(!settings.update.compression.is_on(), "/update/compression",
                "must be absent with " + name + ": a scalar in few bits says nothing");
  check.require(!settings.aggregation.keeps_updates(), "/aggregation/rule",
                "must be mean with " + name + ": its step is of the mean of all updates");
  check.require(
      !settings.training.personal || !tells_a_loss(rule), "/training/personal",
      "must be absent with " + name + ": devices weigh by the loss of the given model, and train another one");
  if (!rule.counts_alike) return;
  check.require(settings.update.weight_max == 1, "/update/weight_max",
                "must be 1 with " + name + ": devices weigh by their loss, and not by how many examples they have");
  check.require(settings.training.normalised_steps == 0, "/training/normalised_steps",
                "must be 0 with " + name + ": its step is that of the training as it was");
}

}  // namespace coterie
