#include "scheduler/job/aggregation_rules.h"

#include <algorithm>
#include <string>

#include "aggregation/robust/registry.h"
#include "base/assert.h"

namespace coterie {
namespace {

std::string in_mebibytes(double bytes) { return std::to_string(static_cast<uint64_t>(bytes / 0x1p20)) + " MiB"; }

void check_count(uint32_t count, const AggregationSettings& aggregation, const char* pointer, SettingsChecker& check) {
  const uint32_t least = aggregation.updates_min();
  check.require(count >= least, pointer,
                "must be at least " + std::to_string(least) + " with " + std::string(aggregation.name()) + " (" +
                    aggregation.rule->updates_min_text + "): of fewer updates it cannot tell which are lies");
}

}  // namespace

uint32_t kept_updates_max(const RoundSettings& rounds) { return 2 * rounds.ticket_count(); }

void check_aggregation(const HorizontalSettings& settings, SettingsChecker& check) {
  const AggregationSettings& aggregation = settings.aggregation;
  if (!aggregation.keeps_updates()) return;
  const std::string name(aggregation.name());
  if (settings.privacy.level != SecurityLevel::none) {
    check.require(false, "/aggregation/rule",
                  name +
                      " needs single updates, and at this level the server sees nothing but their sum: take mean, or "
                      "privacy.level none, which hides no update");
    return;
  }
  check.require(!settings.privacy.has_noise(), "/aggregation/rule",
                name + " does not go with noise: noise is made for what one device can change of a sum; take mean");
  check.require(settings.strategy.statistics == Statistics::averaged, "/strategy/statistics",
                "must be averaged, or absent, with " + name + ": pooled statistics are a mean over all examples");
  check.require(settings.update.weight_max == 1 || aggregation.rule->weighs, "/update/weight_max",
                "must be 1, or absent, with " + name + ": it counts every update once");
  COT_ASSERT(aggregation.values.size() == aggregation.rule->settings.size());
  bool settings_are_valid = true;
  for (size_t i = 0; i < aggregation.values.size(); ++i) {
    const RobustSetting& setting = aggregation.rule->settings[i];
    const bool admits = setting.range.admits(aggregation.values[i]);
    check.require(admits, std::string("/aggregation/") + setting.name, setting.range.text);
    settings_are_valid = settings_are_valid && admits;
  }
  if (!settings_are_valid) return;
  check_count(settings.rounds.goal_count, aggregation, "/rounds/goal_count", check);
  check_count(settings.rounds.goal_count_min, aggregation, "/rounds/goal_count_min", check);
  check.require(kept_updates_max(settings.rounds) <= kKeptUpdatesMax, "/rounds/goal_count",
                "must leave at most " + std::to_string(kKeptUpdatesMax / 2) + " tickets a round with " + name +
                    ", which keeps every update, not " + std::to_string(settings.rounds.ticket_count()));
}

Problems validate_kept_updates(const HorizontalSettings& settings, uint64_t value_count) {
  if (!settings.aggregation.keeps_updates()) return {};
  const std::string name(settings.aggregation.name());
  const double updates = kept_updates_max(settings.rounds);
  const double bytes = updates * static_cast<double>(value_count) * sizeof(float);
  if (bytes > static_cast<double>(kKeptBytesMax)) {
    return {{"/rounds/goal_count", "is too large for this model with " + name + ": a round would keep up to " +
                                       in_mebibytes(bytes) + " of updates, and " +
                                       in_mebibytes(static_cast<double>(kKeptBytesMax)) + " is the limit"}};
  }
  const double pair_values = updates * updates / 2 * static_cast<double>(value_count);
  if (!settings.aggregation.rule->needs_distances() || pair_values <= kPairValuesMax) return {};
  return {{"/rounds/goal_count", "is too large for this model with " + name +
                                     ", which compares each update with each: take fewer devices a round, or a rule "
                                     "that goes coordinate by coordinate"}};
}

}  // namespace coterie
