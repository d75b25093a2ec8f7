// HorizontalSettings: what an operator says about a job whose devices have examples of the same form each: what they
// train, in which rounds, and what becomes of their updates.
//
// Code that meets jobs of any kind goes through job_settings.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "aggregation/robust/aggregation_settings.h"
#include "aggregation/strategy/strategy_settings.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "base/problem.h"
#include "base/time.h"
#include "proto/messages/plan.h"
#include "proto/messages/secagg.h"
#include "scheduler/job/adaptive_clip_settings.h"
#include "scheduler/job/adaptive_mu_settings.h"
#include "scheduler/job/analytics_settings.h"
#include "scheduler/job/compression_settings.h"
#include "scheduler/job/download_settings.h"
#include "scheduler/job/rate_schedule.h"
#include "scheduler/selection/selection_settings.h"

namespace coterie {

// When a round begins and ends, and what becomes of an update that comes after its end.
enum class RoundPolicyKind : uint8_t {
  synchronous,  // devices are chosen together, and what comes late is lost
  buffered      // whoever comes is asked, and what comes late joins the next round (ADR 114)
};
std::string_view to_string(RoundPolicyKind kind);
// In the order of the enumerators.
std::span<const std::string_view> round_policy_names();

inline constexpr uint32_t kSeparationMax = 1'000'000;

// How a round picks devices and when it ends.
struct RoundSettings {
  uint32_t count = 10;             // rounds to do
  uint32_t goal_count = 10;        // updates that close a round
  uint32_t goal_count_min = 2;     // updates without which a round's deadline is extended
  double over_selection = 1.0;     // tickets = ceil(goal_count * over_selection)
  uint32_t pool_min = 0;           // devices to wait for before the choice; 0: as many as the rule chooses among
  Millis selecting_max{10'000};    // after this long, choose among those present if they are at least goal_count_min
  Millis collecting_max{120'000};  // deadline of the updates
  Millis retry_delay{1'000};       // before the next attempt of a failed round
  uint32_t attempts_max = 10;      // of one round; then the job has failed
  uint32_t nodes_min = 0;          // servers that talk to devices, without which no round begins; 0: any
  uint32_t separation_min = 0;     // a device that round n counts is drawn again in n + separation_min at the earliest
  SelectionSettings selection = {};  // who of those who wait gets a ticket; `selection` of a job
  RoundPolicyKind policy = RoundPolicyKind::synchronous;
  // Only buffered rounds have these three:
  uint32_t concurrency = 0;         // devices that train at a time, about; 0: as many as a round has tickets
  uint32_t staleness_max = 20;      // versions by which an update that counts may be late
  float staleness_exponent = 0.5f;  // what is late by s versions weighs (1 + s) ^ -this
  friend bool operator==(const RoundSettings&, const RoundSettings&) = default;

  bool is_buffered() const { return policy == RoundPolicyKind::buffered; }
  uint32_t ticket_count() const;
  // Tickets of a job's first attempt: as many as are to be at work. Each later round replaces those that it counts.
  uint32_t first_ticket_count() const { return concurrency == 0 ? ticket_count() : concurrency; }
  // The last round so far before `number` that whom it counts may be counted in that one again; 0: there is none.
  uint64_t far_enough_before(uint64_t number) const;
  uint32_t pool_target() const;
};

// Updates that a round may count: of everybody who holds a ticket, and of stragglers that a restart let in twice.
uint32_t counted_max(const RoundSettings& rounds);

struct UpdateSettings {
  float clip_l2 = 0;            // 0: none
  float value_abs_max = 64;     // an update with a larger coordinate is rejected
  uint32_t weight_max = 16384;  // examples that count of one device
  // Share of a round's weight that one device has at most: the round's plan has its weight_max by it. 1: any
  double weight_share_max = 1;
  CompressionSettings compression = {};
  friend bool operator==(const UpdateSettings&, const UpdateSettings&) = default;
};

// How the server's noise of one round goes with that of the others.
enum class NoiseMechanism : uint8_t {
  independent,  // fresh in each round
  tree          // what the rounds so far share: secure/dp/noise/noise_tree.h
};
std::string_view to_string(NoiseMechanism mechanism);
// In the order of the enumerators.
std::span<const std::string_view> noise_mechanism_names();

// What the server may learn of one update, and what secure aggregation counts on (secure/secagg/session.h). And
// differential privacy: at level none the server adds noise to each round's sum before anything is made of it
// (central_noise.h says how much), at active_dp the devices do (plan_privacy.h); either way the job stops before its
// releases would pass the budget (the privacy ledger says what is spent).
struct PrivacySettings {
  SecurityLevel level = SecurityLevel::active;
  double noise_multiplier = 0;  // standard deviation / L2 sensitivity of a round's sum; 0: no noise
  double target_delta = 0;      // delta and epsilon of all the job's releases together; 0 without noise
  double epsilon_budget = 0;
  uint32_t cohort_min = 2;     // updates that the sum of a cohort must have at least
  uint32_t cohort_max = 0;     // devices of a cohort at most: a round of more has several; 0: one cohort of all
  double corrupt_share = 0.1;  // of a cohort: devices that may tell the server all they know
  double dropout_share = 0.1;  // that may vanish
  Millis phase_max{30'000};    // how long a phase of a session waits for devices
  NoiseMechanism mechanism = NoiseMechanism::independent;
  std::optional<AdaptiveClipSettings> adaptive_clip = {};  // none: the clip stays
  // With a watch: watch_norm.h.
  double watch_share = 0.25;
  bool has_noise() const { return noise_multiplier > 0; }
  bool has_central_noise() const { return has_noise() && level == SecurityLevel::none; }
  bool has_tree_noise() const { return has_central_noise() && mechanism == NoiseMechanism::tree; }
  friend bool operator==(const PrivacySettings&, const PrivacySettings&) = default;
};

struct HorizontalSettings {
  Digest model;                      // the initial model, uploaded before
  std::optional<Digest> evaluation;  // a data set to evaluate every new model on, uploaded before
  TrainingSettings training;
  UpdateSettings update;
  RoundSettings rounds;
  StrategySettings strategy;
  PrivacySettings privacy;
  RateSchedules schedules;  // of the rates in `training` and `strategy`
  AggregationSettings aggregation;
  DeviceRequirements device_requirements;  // of the plan
  DownloadSettings download;
  // Devices count instead of training; the model is the table of all counts so far (analytics_rules.h).
  std::optional<AnalyticsSettings> analytics = {};
  std::optional<AdaptiveMuSettings> adaptive_mu = {};  // none: training.proximal_mu stays
  friend bool operator==(const HorizontalSettings&, const HorizontalSettings&) = default;
};

// All that is wrong with the settings by themselves; empty means valid.
Problems validate(const HorizontalSettings& settings);

// Devices that close the rosters of a round's cohorts: so many that with dropout_share of them lost the goal is still
// met, at most as many as get tickets.
// They are shared out evenly: the largest cohort has cohort_goal of them, the smallest one less at most.
uint32_t adverts_goal(const HorizontalSettings& settings);
// Devices without which the rosters stay open past their time: in buffered rounds.
uint32_t adverts_least(const HorizontalSettings& settings);
uint32_t cohort_count(const HorizontalSettings& settings);
uint32_t cohort_goal(const HorizontalSettings& settings);

// How many values a job's model has, and how many of them its updates do.
struct ModelValues {
  uint64_t whole = 0;    // float32s in its payload
  uint64_t trained = 0;  // if updates have the trained ones alone (trained_values.h); 0: they have all
  ModelValues(uint64_t whole_count, uint64_t trained_count = 0) : whole(whole_count), trained(trained_count) {}
  // What `value_count` counts in this folder: the values that say how far the model moves.
  uint64_t step_count() const { return trained > 0 ? trained : whole; }
};

// What can be said only when the model is known: whether there is such noise for its updates. Precondition:
// validate(settings) is empty.
Problems validate_with_model(const HorizontalSettings& settings, uint64_t value_count);

// The plan of this job; what a round's says differently: round_terms.h. Precondition: validate(settings) and
// validate_with_model(settings, values.step_count()) are empty.
Plan plan_of(const HorizontalSettings& settings, const JobId& job, const ModelValues& values);

}  // namespace coterie
