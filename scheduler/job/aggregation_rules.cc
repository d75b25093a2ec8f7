#include "scheduler/job/aggregation_rules.h"

#include <algorithm>
#include <string>

#include "aggregation/robust/registry.h"
#include "base/assert.h"

namespace coterie {
namespace {

std::string in_mebibytes(double bytes) { return std::to_string(static_cast<uint64_t>(bytes / 0x1p20)) + " MiB"; }

std::string needed(uint32_t least, const AggregationSettings& aggregation) {
  return std::to_string(least) + " with " + std::string(aggregation.name()) + " (" +
         aggregation.rule->updates_min_text + "): of fewer ";
}

void check_count(uint32_t count, const AggregationSettings& aggregation, const char* pointer, SettingsChecker& check) {
  const uint32_t least = aggregation.updates_min();
  check.require(count >= least, pointer,
                "must be at least " + needed(least, aggregation) + "updates it cannot tell which are lies");
}

// Those that are planned, and those that a thin round is sure of.
void check_cohort_counts(const HorizontalSettings& settings, SettingsChecker& check) {
  const AggregationSettings& aggregation = settings.aggregation;
  const uint32_t least = aggregation.updates_min(), cohorts = cohort_count(settings);
  check.require(cohorts >= least, "/privacy/cohort_max",
                "must make cohorts of the round's " + std::to_string(adverts_goal(settings)) + " devices, at least " +
                    needed(least, aggregation) + "it cannot tell which are lies, and there would be " +
                    std::to_string(cohorts));
  check.require(cohorts <= kKeptUpdatesMax, "/privacy/cohort_max",
                "must make at most " + std::to_string(kKeptUpdatesMax) + " cohorts of a round with " +
                    std::string(aggregation.name()) + ", not " + std::to_string(cohorts));
  const uint64_t updates = uint64_t{least} * settings.privacy.cohort_min;
  check.require(settings.rounds.goal_count_min >= updates, "/rounds/goal_count_min",
                "must be at least " + std::to_string(updates) + " with " + std::string(aggregation.name()) +
                    ", which compares " + std::to_string(least) + " cohorts of cohort_min " +
                    std::to_string(settings.privacy.cohort_min) + " at least");
}

void check_level(const HorizontalSettings& settings, SettingsChecker& check) {
  const std::string name(settings.aggregation.name());
  if (settings.privacy.level == SecurityLevel::active_dp) {
    check.require(false, "/aggregation/rule",
                  name +
                      " does not go with privacy.level active_dp: each cohort's sum has noise enough to hide a device "
                      "by itself, and what is far off among them is noise; take mean, or level active");
    return;
  }
  check.require(!settings.privacy.has_noise(), "/aggregation/rule",
                name + " does not go with noise: noise is made for what one device can change of a sum; take mean");
}

}  // namespace

uint32_t kept_updates_max(const RoundSettings& rounds) { return 2 * rounds.ticket_count(); }

bool compares_cohorts(const HorizontalSettings& settings) {
  const SecurityLevel level = settings.privacy.level;
  return settings.aggregation.keeps_updates() && (level == SecurityLevel::masked || level == SecurityLevel::active);
}

void check_aggregation(const HorizontalSettings& settings, SettingsChecker& check) {
  const AggregationSettings& aggregation = settings.aggregation;
  if (!aggregation.keeps_updates()) return;
  const std::string name(aggregation.name());
  check_level(settings, check);
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
  if (compares_cohorts(settings)) return check_cohort_counts(settings, check);
  if (settings.privacy.level != SecurityLevel::none) return;
  check_count(settings.rounds.goal_count, aggregation, "/rounds/goal_count", check);
  check_count(settings.rounds.goal_count_min, aggregation, "/rounds/goal_count_min", check);
  check.require(kept_updates_max(settings.rounds) <= kKeptUpdatesMax, "/rounds/goal_count",
                "must leave at most " + std::to_string(kKeptUpdatesMax / 2) + " tickets a round with " + name +
                    ", which keeps every update, not " + std::to_string(settings.rounds.ticket_count()));
}

Problems validate_kept_updates(const HorizontalSettings& settings, uint64_t value_count) {
  if (!settings.aggregation.keeps_updates()) return {};
  const std::string name(settings.aggregation.name());
  const bool are_cohorts = compares_cohorts(settings);
  const double updates = kept_updates_max(settings.rounds);
  const double value_bytes = are_cohorts ? sizeof(uint64_t) : sizeof(float);
  const double bytes = updates * static_cast<double>(value_count) * value_bytes;
  if (bytes > static_cast<double>(kKeptBytesMax)) {
    return {{"/rounds/goal_count", "is too large for this model with " + name + ": a round would keep up to " +
                                       in_mebibytes(bytes) + " of updates, and " +
                                       in_mebibytes(static_cast<double>(kKeptBytesMax)) + " is the limit"}};
  }
  const double rows = are_cohorts ? cohort_count(settings) : updates;
  const double pair_values = rows * rows / 2 * static_cast<double>(value_count);
  if (!settings.aggregation.rule->needs_distances() || pair_values <= kPairValuesMax) return {};
  return {{"/rounds/goal_count", "is too large for this model with " + name + ", which compares each " +
                                     (are_cohorts ? "cohort" : "update") +
                                     " with each: take fewer devices a round, or a rule that goes coordinate by "
                                     "coordinate"}};
}

}  // namespace coterie
