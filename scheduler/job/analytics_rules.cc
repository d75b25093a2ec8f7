#include "scheduler/job/analytics_rules.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "proto/messages/analytics_lanes.h"
#include "proto/messages/evaluation_lanes.h"
#include "proto/messages/hitter_lanes.h"
#include "proto/messages/training_rules.h"
#include "scheduler/job/central_noise.h"
#include "scheduler/job/plan_privacy.h"
#include "scheduler/job/quantile_refinement.h"

namespace coterie {
namespace {

constexpr uint32_t kRefinedRounds = 3;         // unless said
constexpr size_t kNameBytesMax = 128;          // of a column, of a category
constexpr size_t kNamesBytesMax = 256 * 1024;  // of all categories
constexpr size_t kQuantilesMax = 32;
constexpr double kRoundingVariance = 0.25;  // of one device's rounding to its grid, at most

void check_names(const AnalyticsSettings& analytics, SettingsChecker& check) {
  check.require(analytics.column.size() <= kNameBytesMax, "/analytics/column",
                "must have at most " + std::to_string(kNameBytesMax) + " bytes");
  size_t bytes = 0;
  const bool fits = std::ranges::all_of(analytics.categories, [&](const std::string& name) {
    bytes += name.size();
    return name.size() <= kNameBytesMax && bytes <= kNamesBytesMax;
  });
  check.require(fits, "/analytics/categories",
                "must have at most " + std::to_string(kNameBytesMax) + " bytes each, and " +
                    std::to_string(kNamesBytesMax) + " together");
  const auto is_short = [](const std::string& name) { return name.size() <= kNameBytesMax; };
  check.require(std::ranges::all_of(analytics.classes, is_short), "/analytics/classes",
                "must have at most " + std::to_string(kNameBytesMax) + " bytes each");
  check.require(std::ranges::all_of(analytics.permuted, is_short), "/analytics/importance/columns",
                "must have names of at most " + std::to_string(kNameBytesMax) + " bytes each");
}

void check_scale(const AnalyticsSettings& analytics, SettingsChecker& check) {
  const bool is_scale = std::isfinite(analytics.mean) && std::isfinite(analytics.deviation) && analytics.deviation > 0;
  check.require(is_scale, "/analytics/deviation", "must have a finite mean, and a deviation that is finite and > 0");
  const bool has_edges = !analytics.edges.empty();
  check.require(analytics.quantiles.empty() || has_edges, "/analytics/quantiles",
                "must be absent: they are told of a histogram of numbers");
  const bool fits = analytics.quantiles.size() <= kQuantilesMax &&
                    std::ranges::all_of(analytics.quantiles, [](double at) { return at > 0 && at < 1; });
  check.require(fits, "/analytics/quantiles",
                "must be at most " + std::to_string(kQuantilesMax) + " numbers in (0, 1)");
}

// What each round asks of what the rounds before have said.
void check_rounds(const HorizontalSettings& settings, SettingsChecker& check) {
  const AnalyticsSettings& analytics = *settings.analytics;
  const uint32_t rounds = settings.rounds.count;
  if (analytics.refines) {
    check.require(rounds >= 2 && rounds <= kRefinedRoundsMax, "/rounds/count",
                  "must be 2 to " + std::to_string(kRefinedRoundsMax) + " with analytics.refine, is " +
                      std::to_string(rounds) + ": each round but the first looks where the one before points");
    const size_t quantiles = analytics.quantiles.size();
    check.require(quantiles > 0 && analytics.edges.size() >= kRefinedEdgesMin * quantiles, "/analytics/refine",
                  "must have quantiles, and " + std::to_string(kRefinedEdgesMin) +
                      " edges or more for each of them: these are dealt out to them in each round");
  }
  if (analytics.rules.hitters) {
    const uint32_t length = analytics.rules.hitters->length_max;
    check.require(rounds <= length, "/rounds/count",
                  "must be at most length_max with kind heavy_hitters, " + std::to_string(length) + ", is " +
                      std::to_string(rounds) + ": a round looks one byte further");
    // As jobs are written: JSON has no single byte above.
    check.require(std::ranges::all_of(analytics.rules.hitters->alphabet, [](uint8_t byte) { return byte < 0x80; }),
                  "/analytics/alphabet", "must be ASCII, or absent for every byte");
    check.require(analytics.threshold > analytics.rules.lane_max, "/analytics/threshold",
                  "must be above lane_max: else one device alone can have a string told");
  } else {
    check.require(analytics.threshold == 0, "/analytics/threshold", "must be absent: it is of kind heavy_hitters");
  }
}

// All of a pair's reasons at once: they are of one key.
void check_pairs(const HorizontalSettings& settings, SettingsChecker& check) {
  std::string reasons;
  const auto refuse = [&](bool is_there, std::string_view with, std::string_view reason) {
    if (!is_there) return;
    reasons += (reasons.empty() ? "" : ". ") + ("analytics do not go with " + std::string(with)) + ": ";
    reasons += reason;
  };
  const TrainingSettings& training = settings.training;
  TrainingSettings plain = training;
  plain.lora.reset();
  plain.early_stopping.reset();
  plain.personal.reset();
  plain.widths.clear();
  refuse(training.lora.has_value(), "training.lora", "nothing is trained that could have companions");
  refuse(training.early_stopping.has_value(), "training.early_stopping", "nothing is trained that could stop");
  refuse(training.personal.has_value(), "training.personal", "nothing is trained that a device could keep");
  refuse(!training.widths.empty(), "training.widths", "nothing is trained that could be narrower");
  refuse(plain != TrainingSettings(), "training", "devices count and train nothing; take it out");
  refuse(settings.schedules != RateSchedules(), "a schedule", "there is no rate that it could change");
  refuse(settings.strategy != StrategySettings(), "strategy",
         "counts of a round are added to the table as they are; take it out");
  refuse(settings.aggregation.keeps_updates(), "aggregation.rule " + std::string(settings.aggregation.name()),
         "it leaves devices out that differ from the others, and counts are of everybody; take mean");
  refuse(settings.update.compression.is_on(), "update.compression", "rounded counts are other counts");
  refuse(settings.download.is_on(), "download", "a table is small, and a rounded one is another one");
  refuse(settings.evaluation.has_value(), "evaluation", "a table answers no examples");
  refuse(settings.rounds.is_buffered(), "rounds.policy buffered",
         "a count that weighs less for being late is no count");
  refuse(settings.privacy.adaptive_clip.has_value(), "privacy.adaptive_clip",
         "what a device may add is known before; values_max bounds it");
  refuse(settings.privacy.mechanism == NoiseMechanism::tree, "privacy.mechanism tree",
         "a table is released whole in each round; take independent");
  refuse(settings.analytics->rules.kind == AnalyticsKind::evaluation && settings.privacy.has_noise(),
         "privacy.noise_multiplier",
         "an evaluation's squares and products, which say how far devices differ, would be all noise; take level "
         "active, or count the answers with a histogram");
  check.require(reasons.empty(), "/analytics", reasons);
}

// Each is what follows from the analytics, or the operator has said another number.
void check_update(const HorizontalSettings& settings, SettingsChecker& check) {
  HorizontalSettings wanted;
  set_defaults(*settings.analytics, wanted);
  const UpdateSettings &own = settings.update, &meant = wanted.update;
  const std::string why = " with analytics: what a device may add follows from values_max and lane_max; leave it out";
  check.require(own.clip_l2 == meant.clip_l2, "/update/clip_l2", "must be " + std::to_string(meant.clip_l2) + why);
  check.require(own.value_abs_max == meant.value_abs_max, "/update/value_abs_max",
                "must be " + std::to_string(meant.value_abs_max) + why);
  check.require(own.weight_max == 1, "/update/weight_max", "must be 1" + why);
  check.require(own.weight_share_max == 1, "/update/weight_share_max", "must be 1" + why);
  // Rounds that add to one lane.
  const uint32_t added = settings.analytics->asks_anew() ? 1 : settings.rounds.count;
  const uint64_t rounds = uint64_t{added} * counted_max(settings.rounds);
  check.require(
      rounds <= kTableCountMax / settings.analytics->rules.lane_max, "/analytics/lane_max",
      "must leave every count exact: rounds.count, times four times the devices that a round asks, times lane_max "
      "must be at most " +
          std::to_string(kTableCountMax));
}

}  // namespace

AnalyticsRules rules_of(const AnalyticsSettings& analytics) {
  AnalyticsRules rules = analytics.rules;
  rules.edges.clear();
  // As the value itself was encoded, to the bit: inputs by a double's reciprocal, targets by the floats that their file
  // has. So a value on an edge begins the edge's bin on every device.
  const bool is_target = rules.source == AnalyticsSource::target;
  const auto offset = static_cast<double>(static_cast<float>(analytics.mean));
  const auto scale = static_cast<double>(static_cast<float>(analytics.deviation));
  const double factor = 1 / analytics.deviation;
  for (const double edge : analytics.edges) {
    const double scaled =
        is_target ? (static_cast<double>(static_cast<float>(edge)) - offset) / scale : (edge - analytics.mean) * factor;
    rules.edges.push_back(static_cast<float>(scaled));
  }
  if (!analytics.categories.empty()) rules.categories = static_cast<uint32_t>(analytics.categories.size());
  if (rules.kind == AnalyticsKind::evaluation)
    rules.evaluation->classes = static_cast<uint32_t>(analytics.classes.size());
  return rules;
}

uint32_t blocks_of(const HorizontalSettings& settings) {
  return settings.analytics->asks_anew() ? settings.rounds.count : 1;
}

void set_defaults(const AnalyticsSettings& analytics, HorizontalSettings& settings) {
  const AnalyticsRules rules = rules_of(analytics);
  if (!problems_of(rules).empty()) return;  // which are told by themselves
  settings.rounds.count = rules.hitters ? rules.hitters->length_max : analytics.refines ? kRefinedRounds : 1;
  settings.update = {.clip_l2 = clip_of(rules),
                     .value_abs_max = static_cast<float>(rules.lane_max),
                     .weight_max = 1,
                     .weight_share_max = 1};
}

void check_analytics(const HorizontalSettings& settings, SettingsChecker& check) {
  if (!settings.analytics) return;
  const Problems own = problems_of(rules_of(*settings.analytics));
  for (const Problem& problem : own) check.require(false, "/analytics" + problem.pointer, problem.detail);
  check_names(*settings.analytics, check);
  check_scale(*settings.analytics, check);
  check_rounds(settings, check);
  check_pairs(settings, check);
  if (own.empty()) check_update(settings, check);
}

double lane_noise_of(const HorizontalSettings& settings, uint64_t updates) {
  if (!settings.analytics || !settings.privacy.has_noise()) return 0;
  const uint64_t lanes = lane_count(rules_of(*settings.analytics));
  if (settings.privacy.has_central_noise()) {
    const Result<CentralNoise> noise = central_noise_of(settings, lanes);
    return noise ? std::ldexp(noise->sigma, -static_cast<int>(noise->fraction_bits)) : 0;
  }
  const Result<PrivacyRules> rules = privacy_rules_of(settings, lanes);
  if (!rules) return 0;
  const double variance = (rules->noise_variance_local + kRoundingVariance) * static_cast<double>(updates);
  return std::ldexp(std::sqrt(variance), -static_cast<int>(rules->encoding.fraction_bits));
}

}  // namespace coterie
