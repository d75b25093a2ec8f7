#include "scheduler/job/cluster_rules.h"

#include <string>

#include "proto/messages/model_clusters.h"

namespace coterie {

void check_clusters(const HorizontalSettings& settings, SettingsChecker& check) {
  if (cluster_count(settings.training) == 1) return;
  const StrategyRule& rule = *settings.strategy.rule;
  check.require(rule.scalars.empty(), "/strategy/kind",
                std::string(rule.name) +
                    " does not go with training.personal of kind clusters: what its devices tell is of one model; take "
                    "fedavg, fedavgm or fedadam");
  check.require(rule.move_matrix == nullptr, "/strategy/kind",
                std::string(rule.name) +
                    " does not go with training.personal of kind clusters: it moves the matrices of one model; take "
                    "fedavg, fedavgm or fedadam");
  check.require(!settings.privacy.has_noise(), "/privacy/noise_multiplier",
                "must be 0 with training.personal of kind clusters: the clip and the account are of updates, and how "
                "many devices chose a cluster is released with them");
  check.require(
      !settings.update.compression.is_on(), "/update/compression",
      "must be absent with training.personal of kind clusters: which one an update is of is a number, and in few "
      "bits it says nothing");
  check.require(!settings.aggregation.keeps_updates(), "/aggregation/rule",
                "must be mean with training.personal of kind clusters: it compares updates of one model");
}

std::vector<ScalarRule> cluster_scalars(const TrainingSettings& training) {
  const uint32_t count = cluster_count(training);
  if (count == 1) return {};
  return std::vector<ScalarRule>(count, {ScalarKind::cluster_member, 1});
}

}  // namespace coterie
