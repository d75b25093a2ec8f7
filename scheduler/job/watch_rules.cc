#include "scheduler/job/watch_rules.h"

#include <algorithm>
#include <string>

#include "proto/messages/watch_lanes.h"
#include "scheduler/job/watch_norm.h"

namespace coterie {
namespace {

bool is_for(std::string_view check, const ModelGraph& graph) {
  const auto has_op = [&](std::initializer_list<OpKind> kinds) {
    return std::ranges::any_of(graph.ops,
                               [&](const OpInfo& op) { return std::ranges::find(kinds, op.kind) != kinds.end(); });
  };
  if (check == "dead_relu") return has_op({OpKind::relu, OpKind::relu6});
  if (check == "activation_range") return has_op({OpKind::tanh, OpKind::sigmoid});
  if (check != "weight_initial") return true;
  return std::ranges::any_of(graph.tensors, [](const TensorInfo& tensor) {
    return tensor.role == TensorRole::parameter && tensor.shape.size() >= 2;
  });
}

bool are_known(const WatchSettings& watch) {
  return !watch.checks.empty() && std::ranges::all_of(named_checks(watch).checks, [](const std::string& name) {
    return find_job_check(name) != nullptr;
  });
}

void check_share(const HorizontalSettings& settings, SettingsChecker& check) {
  const PrivacySettings& privacy = settings.privacy;
  const bool is_noisy = settings.training.watch && privacy.has_noise();
  check.require(is_noisy || privacy.watch_share == kWatchShare, "/privacy/watch_share",
                "must be absent without training.watch or without noise: it is what lanes of a watch have of the norm "
                "that noise hides");
  if (!is_noisy) return;
  check.in_range(privacy.watch_share, kWatchShareMin, kWatchShareMax, "/privacy/watch_share");
  const bool is_share = privacy.watch_share >= kWatchShareMin && privacy.watch_share <= kWatchShareMax;
  if (!is_share || !are_known(*settings.training.watch) || !(settings.update.clip_l2 > 0)) return;
  const float bound = watch_bound_of(settings, settings.update.value_abs_max);
  check.require(bound > 1, "/update/value_abs_max",
                "must be above what a lane of the watch has with noise: raise it, or lower update.clip_l2 or "
                "privacy.watch_share");
  // Noise of the server has a value_abs_max of its own, near the clip.
  check.require(privacy.has_central_noise() || bound <= kScalarBoundMax, "/update/value_abs_max",
                "must be at most 1e12 times what a lane of the watch has with noise: lower it, or raise update.clip_l2 "
                "or privacy.watch_share");
}

}  // namespace

void check_watch(const HorizontalSettings& settings, SettingsChecker& check) {
  check_share(settings, check);
  if (!settings.training.watch) return;
  check.require(
      !settings.update.compression.is_on(), "/update/compression",
      "must be absent with training.watch: whether a check fired is a number, and in few bits it says nothing");
  check.require(!settings.aggregation.keeps_updates(), "/aggregation/rule",
                "must be mean with training.watch: what devices found is a part of their sum");
  check.require(!settings.rounds.is_buffered(), "/rounds/policy",
                "must be synchronous with training.watch: what comes late was found in another model");
  const bool has_labels = settings.training.target == TargetKind::labels;
  const auto& checks = settings.training.watch->checks;
  check.require(has_labels || std::ranges::find(checks, "label_drift") == checks.end(), "/training/watch/checks",
                "must not name label_drift where training.target is values: it reads classes");
}

Problems watch_problems(const HorizontalSettings& settings, const ModelGraph& graph) {
  if (!settings.training.watch) return {};
  Problems problems;
  for (const std::string& check : settings.training.watch->checks) {
    if (is_for(check, graph)) continue;
    problems.push_back({"/training/watch/checks", "must not name " + check + ", which is for nothing of this model; `" +
                                                      std::string(kRecommendedChecks) + "` is for all models"});
  }
  return problems;
}

}  // namespace coterie
