#include "scheduler/job/horizontal_settings.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "proto/messages/training_rules.h"
#include "proto/messages/watch_lanes.h"
#include "scheduler/job/adaptive_clip_rules.h"
#include "scheduler/job/adaptive_mu_rules.h"
#include "scheduler/job/aggregation_rules.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/buffered_rules.h"
#include "scheduler/job/central_noise.h"
#include "scheduler/job/cluster_rules.h"
#include "scheduler/job/compression_rules.h"
#include "scheduler/job/correction_rules.h"
#include "scheduler/job/download_rules.h"
#include "scheduler/job/plan_privacy.h"
#include "scheduler/job/scalar_rules.h"
#include "scheduler/job/selection_rules.h"
#include "scheduler/job/settings_checker.h"
#include "scheduler/job/watch_norm.h"
#include "scheduler/job/watch_rules.h"
#include "scheduler/job/width_rules.h"
#include "secure/dp/account/number_words.h"
#include "secure/dp/distributed/device_noise.h"

namespace coterie {
namespace {

constexpr uint32_t kNodesMax = 10'000;
constexpr std::string_view kNoiseMechanisms[] = {"independent", "tree"};

void check_rounds(const RoundSettings& rounds, SettingsChecker& check) {
  check.in_range<uint32_t>(rounds.count, 1, 1'000'000, "/rounds/count");
  check.in_range<uint32_t>(rounds.goal_count, 1, 1'000'000, "/rounds/goal_count");
  check.in_range<uint32_t>(rounds.goal_count_min, 1, 1'000'000, "/rounds/goal_count_min");
  check.require(rounds.goal_count_min <= rounds.goal_count, "/rounds/goal_count_min", "must be at most goal_count");
  check.in_range(rounds.over_selection, 1.0, 10.0, "/rounds/over_selection");
  check.in_range<uint32_t>(rounds.pool_min, 0, 10'000'000, "/rounds/pool_min");
  check.in_range<uint32_t>(rounds.nodes_min, 0, kNodesMax, "/rounds/nodes_min");
  check.in_range<uint32_t>(rounds.separation_min, 0, kSeparationMax, "/rounds/separation_min");
  check.in_range(rounds.selecting_max, Millis(1), Millis(86'400'000), "/rounds/selecting_ms_max");
  check.in_range(rounds.collecting_max, Millis(1), Millis(86'400'000), "/rounds/collecting_ms_max");
  check.in_range(rounds.retry_delay, Millis(0), Millis(86'400'000), "/rounds/retry_delay_ms");
  check.in_range<uint32_t>(rounds.attempts_max, 1, 1000, "/rounds/attempts_max");
}

void check_training(const HorizontalSettings& settings, SettingsChecker& check) {
  for (const Problem& problem : problems_of(settings.training)) {
    check.require(false, "/training" + problem.pointer, problem.detail);
  }
}

void check_strategy(const StrategySettings& strategy, SecurityLevel level, bool has_noise, SettingsChecker& check) {
  const bool sees_updates = level == SecurityLevel::none;
  const auto sees_sums_alone = [](std::string_view what) {
    return std::string(what) + " needs single updates, and at this level the server sees nothing but their sum: take ";
  };
  const std::string rule(to_string(strategy.aggregation_rule));
  check.require(strategy.aggregation_rule == AggregationRule::mean, "/strategy/aggregation_rule",
                sees_updates ? rule + " is said by aggregation.rule: take mean here" : sees_sums_alone(rule) + "mean");
  check.require(strategy.rule->needs == StrategyNeeds::sum || sees_updates, "/strategy/kind",
                sees_sums_alone(strategy.rule->name) + "another kind, or privacy.level none");
  check.require(strategy.statistics == Statistics::averaged || !has_noise, "/strategy/statistics",
                "must be averaged, or absent, with noise: noise does not cover pooled statistics");
  COT_ASSERT(strategy.values.size() == strategy.rule->settings.size());
  for (size_t i = 0; i < strategy.values.size(); ++i) {
    const StrategySetting& setting = strategy.rule->settings[i];
    check.require(setting.range.admits(strategy.values[i]), std::string("/strategy/") + setting.name,
                  setting.range.text);
  }
}

void check_schedules(const HorizontalSettings& settings, SettingsChecker& check) {
  const auto add = [&](const Problems& problems) {
    for (const Problem& problem : problems) check.require(false, problem.pointer, problem.detail);
  };
  add(problems_of(settings.schedules.device, settings.training.optimizer.learning_rate, settings.rounds.count,
                  "/training/schedule"));
  add(problems_of(settings.schedules.server, settings.strategy.values.front(), settings.rounds.count,
                  "/strategy/schedule"));
}

// Noise of a tree is taken off again, bit by bit, by later rounds: so each must reach the model as the others do.
void check_tree(const HorizontalSettings& settings, SettingsChecker& check) {
  const PrivacySettings& privacy = settings.privacy;
  if (privacy.mechanism != NoiseMechanism::tree) return;
  check.require(privacy.has_central_noise(), "/privacy/mechanism",
                "tree is noise of the server: it needs privacy.level none and a noise_multiplier");
  check.require(settings.rounds.separation_min >= 2, "/rounds/separation_min",
                "must be at least 2 with privacy.mechanism tree: a tree costs less than independent noise by how many "
                "rounds lie between two that count the same device");
  check.require(settings.strategy.rule->is_linear, "/strategy/kind",
                std::string(settings.strategy.rule->name) +
                    " does not go with privacy.mechanism tree: later rounds take off the noise of earlier ones, which "
                    "needs a strategy that is linear in the rounds' means; take fedavg or fedavgm");
}

void check_privacy(const HorizontalSettings& settings, SettingsChecker& check) {
  const PrivacySettings& privacy = settings.privacy;
  check_tree(settings, check);
  if (privacy.noise_multiplier == 0) {
    check.require(privacy.level != SecurityLevel::active_dp, "/privacy/noise_multiplier",
                  "must be > 0 at active_dp: it is the noise that devices add");
    const std::string why = "must be absent without noise: set noise_multiplier, or take this out";
    check.require(privacy.target_delta == 0, "/privacy/target_delta", why);
    check.require(privacy.epsilon_budget == 0, "/privacy/epsilon_budget", why);
    return;
  }
  check.require(
      privacy.level == SecurityLevel::none || privacy.level == SecurityLevel::active_dp, "/privacy/noise_multiplier",
      "must be 0 at this level: the server cannot see that updates are clipped; at level active_dp devices add noise, "
      "at none the server does");
  check.in_range(privacy.noise_multiplier, kNoiseMultiplierMin, kNoiseMultiplierMax, "/privacy/noise_multiplier");
  check.require(privacy.target_delta >= kTargetDeltaMin && privacy.target_delta <= kTargetDeltaMax,
                "/privacy/target_delta", "must be in [1e-30, 0.1]: well below one in the number of devices");
  check.in_range(privacy.epsilon_budget, kEpsilonBudgetMin, kEpsilonBudgetMax, "/privacy/epsilon_budget");
  check.require(settings.update.clip_l2 > 0, "/update/clip_l2", "must be > 0 with noise: it is what noise has to hide");
  check.require(settings.update.weight_max == 1, "/update/weight_max",
                "must be 1 with noise: what noise has to hide grows with the weight of one device");
}

// Up to 255 devices more than two thirds of an active roster must stay to the end (secure/secagg/graph_parameters.h).
void check_dropouts(uint32_t roster, double dropout_share, SettingsChecker& check) {
  constexpr uint32_t kCompleteMax = 255;
  const auto lost = static_cast<uint32_t>(std::floor(dropout_share * roster + 1e-9));
  const uint32_t needed = 2 * roster / 3 + 1;
  check.require(roster > kCompleteMax || roster - lost >= needed, "/privacy/dropout_share",
                "must leave " + std::to_string(needed) + " of a roster of " + std::to_string(roster) +
                    " devices to open the sum: at most " + std::to_string(roster - needed) + " may vanish, not " +
                    std::to_string(lost));
}

void check_cohorts(const HorizontalSettings& settings, SettingsChecker& check) {
  const PrivacySettings& privacy = settings.privacy;
  const uint32_t goal = cohort_goal(settings);
  check.require(
      privacy.cohort_max == 0 || (privacy.cohort_max >= kRosterSizeMin && privacy.cohort_max <= kRosterSizeMax),
      "/privacy/cohort_max", "must be 0, for one cohort of all, or in [2, " + std::to_string(kRosterSizeMax) + "]");
  const uint32_t smallest = adverts_goal(settings) / cohort_count(settings);
  check.require(smallest >= privacy.cohort_min, "/privacy/cohort_min",
                "must be at most " + std::to_string(smallest) + ": the devices of a round make " +
                    std::to_string(cohort_count(settings)) + " cohorts of that size");
  check.require(
      goal <= kRosterSizeMax, "/rounds/goal_count",
      "must leave a cohort of at most " + std::to_string(kRosterSizeMax) + " devices: set privacy.cohort_max");
  if (privacy.level != SecurityLevel::active_dp) return;
  const Result<uint32_t> honest_min = honest_min_of(privacy.cohort_min, privacy.corrupt_share, goal);
  if (honest_min) return;
  check.require(false, goal > kNoisyRosterMax ? "/privacy/cohort_max" : "/privacy/cohort_min",
                honest_min.error().message());
}

void check_secure_aggregation(const HorizontalSettings& settings, SettingsChecker& check) {
  const PrivacySettings& privacy = settings.privacy;
  if (privacy.level == SecurityLevel::none) return;
  check.in_range<uint32_t>(privacy.cohort_min, kRosterSizeMin, kRosterSizeMax, "/privacy/cohort_min");
  const bool is_active = privacy.level >= SecurityLevel::active;
  const double corrupt_min = is_active ? kCorruptShareMin : 0, corrupt_max = is_active ? kCorruptShareMax : 0.9;
  check.require(privacy.corrupt_share >= corrupt_min && privacy.corrupt_share <= corrupt_max, "/privacy/corrupt_share",
                (is_active ? "must be in [0.1, 1/3] against an active server, not " : "must be in [0, 0.9], not ") +
                    number_words(privacy.corrupt_share));
  check.in_range(privacy.dropout_share, 0.0, 0.9, "/privacy/dropout_share");
  const bool is_share = privacy.dropout_share >= 0 && privacy.dropout_share <= 0.9;
  if (is_active && is_share) check_dropouts(cohort_goal(settings), privacy.dropout_share, check);
  check.in_range(privacy.phase_max, Millis(100), Millis(3'600'000), "/privacy/phase_ms_max");
  const std::string why = "must be at least privacy.cohort_min, which is " + std::to_string(privacy.cohort_min) +
                          ": a sum of fewer updates is never unmasked";
  if (settings.rounds.goal_count < privacy.cohort_min) {
    check.require(false, "/rounds/goal_count", why + "; privacy.level none has no cohorts, and hides no update");
    return;
  }
  check.require(settings.rounds.goal_count_min >= privacy.cohort_min, "/rounds/goal_count_min", why);
  if (is_share) check_cohorts(settings, check);
}

FixedPointSpec fixed_point_of(const HorizontalSettings& settings) {
  const bool keeps_single = settings.aggregation.keeps_updates() && !compares_cohorts(settings);
  const uint32_t contributors =
      keeps_single ? kept_updates_max(settings.rounds) : std::max<uint32_t>(1024, counted_max(settings.rounds));
  return FixedPointSpec::finest(settings.update.value_abs_max, settings.update.weight_max, contributors);
}

}  // namespace

uint64_t RoundSettings::far_enough_before(uint64_t number) const {
  const uint64_t separation = std::max(1u, separation_min);
  return number > separation ? number - separation : 0;
}

uint32_t RoundSettings::pool_target() const {
  if (pool_min != 0) return pool_min;
  return static_cast<uint32_t>(std::min<uint64_t>(selection.candidates(ticket_count()), 1'000'000'000));
}

uint32_t counted_max(const RoundSettings& rounds) {
  return 4 * std::max(rounds.ticket_count(), rounds.first_ticket_count());
}

std::string_view to_string(NoiseMechanism mechanism) { return kNoiseMechanisms[static_cast<size_t>(mechanism)]; }
std::span<const std::string_view> noise_mechanism_names() { return kNoiseMechanisms; }

uint32_t RoundSettings::ticket_count() const {
  const double tickets = std::ceil(static_cast<double>(goal_count) * over_selection);
  return static_cast<uint32_t>(std::clamp(tickets, 1.0, 1e7));
}

Problems validate(const HorizontalSettings& settings) {
  Problems problems;
  SettingsChecker check(problems);
  check_training(settings, check);
  // Later checks compute with the rounds' numbers. With numbers out of range they would report nonsense on top.
  const Problems before_rounds = problems;
  check_rounds(settings.rounds, check);
  const bool rounds_are_valid = problems == before_rounds;
  check_strategy(settings.strategy, settings.privacy.level, settings.privacy.has_noise(), check);
  check_schedules(settings, check);
  check_privacy(settings, check);
  check_correction(settings, check);
  check_scalars(settings, check);
  check_adaptive_mu(settings, check);
  check_clusters(settings, check);
  check_widths(settings, check);
  check_watch(settings, check);
  if (rounds_are_valid) check_analytics(settings, check);
  if (rounds_are_valid) check_buffered(settings, check);
  check_selection(settings, check);
  if (rounds_are_valid) check_aggregation(settings, check);
  if (rounds_are_valid) check_secure_aggregation(settings, check);  // of nonsense there are no cohorts
  check.in_range<double>(settings.update.clip_l2, 0, 1e9, "/update/clip_l2");
  const Problems before = problems;
  check.require(std::isfinite(settings.update.value_abs_max) && settings.update.value_abs_max > 0,
                "/update/value_abs_max", "must be finite and > 0");
  check.in_range<uint32_t>(settings.update.weight_max, 1, kWeightMax, "/update/weight_max");
  const double share = settings.update.weight_share_max;
  check.require(share == 1 || (share < 1 && share * settings.rounds.goal_count >= 1), "/update/weight_share_max",
                "must be in [1 / goal_count, 1], is " + number_words(share) +
                    ": devices that weigh alike have 1 / goal_count each");
  if (problems == before) {
    if (const Status fits = validate(fixed_point_of(settings)); !fits) {
      check.require(false, "/update", fits.error().message());
    }
  }
  if (problems.empty()) problems = compression_problems(settings);
  for (Problem& problem : adaptive_clip_problems(settings)) problems.push_back(std::move(problem));
  for (Problem& problem : download_problems(settings.download)) problems.push_back(std::move(problem));
  for (const Problem& problem : problems_of(settings.device_requirements)) {
    check.require(false, "/device_requirements" + problem.pointer, problem.detail);
  }
  return problems;
}

uint32_t adverts_goal(const HorizontalSettings& settings) {
  const double wanted = std::ceil(settings.rounds.goal_count / (1 - std::min(0.9, settings.privacy.dropout_share)));
  return std::min(settings.rounds.ticket_count(), static_cast<uint32_t>(std::min(wanted, 1e9)));
}

uint32_t adverts_least(const HorizontalSettings& settings) {
  const bool waits = settings.rounds.is_buffered() && settings.privacy.level != SecurityLevel::none;
  return waits ? settings.rounds.goal_count_min : 0;
}

uint32_t cohort_count(const HorizontalSettings& settings) {
  const uint32_t cohort_max = settings.privacy.cohort_max;
  return cohort_max == 0 ? 1 : std::max(1u, (adverts_goal(settings) + cohort_max - 1) / cohort_max);
}

uint32_t cohort_goal(const HorizontalSettings& settings) {
  const uint32_t cohorts = cohort_count(settings);
  return (adverts_goal(settings) + cohorts - 1) / cohorts;
}

Problems validate_with_model(const HorizontalSettings& settings, uint64_t value_count) {
  Status noise = Status();
  if (settings.privacy.has_central_noise()) {
    const auto central = central_noise_of(settings, value_count);
    if (!central) noise = central.error();
    const double lane = watch_lane_norm_of(settings);
    // Rounded it would be 0 whatever was found, and no share could be told of the sum.
    if (central && lane > 0 && std::ldexp(lane, static_cast<int>(central->fraction_bits)) < 1) {
      return {{"/privacy/watch_share",
               "leaves a lane of the watch less than a step of the grid that noise is made on: raise it, or lower "
               "privacy.noise_multiplier, or take training.watch out"}};
    }
  } else if (const auto rules = privacy_rules_of(settings, value_count); !rules) {
    noise = rules.error();
  }
  if (noise) return {};
  return {{"/privacy/noise_multiplier", noise.error().message()}};
}

namespace {

UpdateEncoding encoding_of(const HorizontalSettings& settings) {
  if (settings.privacy.adaptive_clip) return UpdateEncoding::float32_clip_bit;
  if (settings.update.compression.is_on()) return encoding_of(settings.update.compression);
  return settings.strategy.statistics == Statistics::pooled ? UpdateEncoding::float32_pooled : UpdateEncoding::float32;
}

}  // namespace

Plan plan_of(const HorizontalSettings& settings, const JobId& job, const ModelValues& values) {
  const uint64_t value_count = values.step_count();
  FixedPointSpec fixed_point = fixed_point_of(settings);
  const Result<PrivacyRules> rules = privacy_rules_of(settings, value_count);
  COT_ASSERT(rules.has_value());
  if (settings.privacy.has_central_noise()) {
    const Result<CentralNoise> noise = central_noise_of(settings, value_count);
    COT_ASSERT(noise.has_value());
    fixed_point.fraction_bits = noise->fraction_bits;
    // The noise was made for the grid of central_noise.h: server and devices must round to that one.
    fixed_point.value_abs_max = std::min(fixed_point.value_abs_max, noise->value_abs_max);
  }
  TrainingSettings training = settings.training;
  training.correction = correction_of(settings.strategy);
  if (training.watch) training.watch = named_checks(*training.watch);
  std::vector<ScalarRule> scalars = scalars_of(settings);
  for (ScalarRule& scalar : scalars) {
    if (scalar.kind == ScalarKind::watch_hit) scalar.bound = watch_bound_of(settings, fixed_point.value_abs_max);
  }
  const bool has_control_part = has_control(training.correction.kind);
  std::optional<AnalyticsRules> analytics;
  if (settings.analytics) analytics = rules_of(*settings.analytics);
  return {.job = job,
          .training = std::move(training),
          .update = {.encoding = encoding_of(settings),
                     .value_count = update_value_count(settings, value_count),
                     .clip_l2 = settings.update.clip_l2,
                     .fixed_point = fixed_point,
                     .quantization = quantization_of(settings),
                     .clip = clip_rules_of(settings),
                     .control_value_count = has_control_part ? value_count : 0,
                     // Which block of a table an update is added to is the server's affair.
                     .whole_value_count = values.trained > 0 && !settings.analytics ? values.whole : 0,
                     .top_k = top_k_of(settings, update_value_count(settings, value_count)),
                     .scalars = std::move(scalars),
                     .fair = fair_weight_of(settings.strategy)},
          .privacy = *rules,
          .device_requirements = settings.device_requirements,
          .staleness = staleness_of(settings.rounds),
          .download = {.bits = settings.download.bits},
          .analytics = std::move(analytics)};
}

}  // namespace coterie
