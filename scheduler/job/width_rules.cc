#include "scheduler/job/width_rules.h"

#include <string>

#include "proto/messages/model_widths.h"
#include "scheduler/job/correction_rules.h"

namespace coterie {

void check_widths(const HorizontalSettings& settings, SettingsChecker& check) {
  if (settings.training.widths.empty()) return;
  const StrategyRule& rule = *settings.strategy.rule;
  const bool is_plain = rule.scalars.empty() && rule.correction == CorrectionKind::none;
  check.require(is_plain, "/strategy/kind",
                std::string(rule.name) +
                    " does not go with training.widths: what its devices tell or keep is of the whole model; take "
                    "fedavg, fedavgm or fedadam");
  check.require(
      rule.move_matrix == nullptr, "/strategy/kind",
      std::string(rule.name) +
          " does not go with training.widths: it moves a matrix as a whole, and devices train parts of it; take "
          "fedavg, fedavgm or fedadam");
  check.require(
      !settings.privacy.has_noise(), "/privacy/noise_multiplier",
      "must be 0 with training.widths: how many devices trained a width is released with the model, and is in "
      "no account");
  check.require(!settings.update.compression.is_on(), "/update/compression",
                "must be absent with training.widths: which one an update is of is a number, and in few bits it says "
                "nothing");
  check.require(!settings.aggregation.keeps_updates(), "/aggregation/rule",
                "must be mean with training.widths: it compares updates of one model, and zeros of a narrow one are no "
                "opinion");
}

Problems width_problems(const HorizontalSettings& settings, const ModelGraph& graph) {
  const std::vector<uint32_t>& widths = settings.training.widths;
  if (widths.empty()) return {};
  uint64_t before = 0;
  for (size_t i = 0; i < widths.size(); ++i) {
    const Result<NarrowGraph> narrow = narrow_graph(graph, widths[i]);
    if (!narrow) return {{"/training/widths", narrow.error().message()}};
    if (i > 0 && narrow->value_count >= before) {
      return {{"/training/widths/classes", "entry " + std::to_string(i + 1) +
                                               " cuts no more of the model than the one "
                                               "before: its layers have too few channels"}};
    }
    before = narrow->value_count;
  }
  return {};
}

std::vector<ScalarRule> width_scalars(const TrainingSettings& training) {
  if (training.widths.empty()) return {};
  return std::vector<ScalarRule>(training.widths.size() - 1, {ScalarKind::width_holder, 1});
}

}  // namespace coterie
