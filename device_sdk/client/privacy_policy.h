// PrivacyPolicy: the least that this device asks of a plan before it trains under it, and what it counts by
// itself.
//
// A plan that offers less is `refused`, with one of refusal_reason as the error's reason:
//   security_level   the level is lower than security_level_min, than that of an earlier plan of the job, or, where
//                    keeps_level, of any job; or one that this client does not speak
//   cohort_min       a sum may be of fewer devices than cohort_min
//   epsilon_round    one participation costs more than epsilon_round_max; or the plan promises nothing where the app
//                    set any limit of epsilon or delta: without a promise what it costs is unbounded
//   epsilon_total    with it, what all participations have cost would pass epsilon_total_max
//   delta            with it, the sum of their deltas would pass delta_max
//   separation       it comes too soon after the last participation
//   corrupt_share    at level active or above, it counts on fewer corrupt devices than corrupt_share_min
//   attempts         its holders are drawn, and this device has taken part in attempts_max attempts of the round
//   openings         this device has given what opens a sum with its update of the plan's model, or of a plan with
//                    analytics its answer for the column, openings_max times (openings.h)
//   certificate      others would end their session over this device: it trusts an authority that has not
//                    certified it, or whose certificate has ended, was revoked or is for another population
//   analytics        it asks for counts of the examples, and the app has not said that it accepts such plans
//
// What all have cost is the sum of epsilon_round, and the sum of delta, over every attempt in which an update
// may have left. That is basic composition. It holds for plans that are chosen in view of earlier answers,
// with limits fixed beforehand (Rogers et al. 2016, "Privacy Odometers and Filters", section 3), and so
// whatever the server does, as far as each plan's own promise holds. Tighter accounts exist; they need to
// know more of the mechanisms than a plan says.
#pragma once

#include <cstdint>
#include <string>

#include "proto/messages/checkin.h"
#include "proto/messages/participant_state.h"
#include "proto/messages/plan.h"

namespace coterie {

// The limits of plans with noise, where an app sets none (ADR 52). An epsilon says nothing without its delta, so that a
// limit of the one never goes without a limit of the other.
inline constexpr double kEpsilonRoundMax = 8, kEpsilonTotalMax = 32, kDeltaMax = 1e-5;
inline constexpr uint32_t kAttemptsMax = 3;
// What an app gets that says nothing (device_sdk/c_api/policy.h).
inline constexpr uint32_t kCohortMinDefault = 20;
inline constexpr uint32_t kOpeningsMaxDefault = 1;  // ADR 60

// By itself it refuses nothing but what no app can want; apps get the defaults of the C interface (ADR 53).
struct PrivacyPolicy {
  SecurityLevel security_level_min = SecurityLevel::none;
  uint32_t cohort_min = kRosterSizeMin;  // of plans with a level
  // Each: 0 is not set. Then plans with noise have the default above, and others none. Infinity: any epsilon will do.
  double epsilon_round_max = 0;  // of one participation
  double epsilon_total_max = 0;  // of all participations in all jobs of this server, ever
  double delta_max = 0;          // likewise; below 1
  // Rounds of one job between two participations: after a part in the round that began with model version v,
  // the next at version v + separation_min or later. It is the separation of secure/dp/account/tree.h
  // (Participation::separated): a step of the tree is a round of the job. Another attempt of the same round
  // is the same step. 0 and 1: every round.
  uint64_t separation_min = 0;
  // At levels active and above, the share of corrupt devices that a plan must withstand; from kCorruptShareMin, which
  // no device goes below, to kCorruptShareMax. Above kCompleteRosterMax devices thresholds follow from it, at active_dp
  // what a round costs. Below active the plan's shares are the server's word.
  double corrupt_share_min = kCorruptShareMin;
  // Attempts of one round that this device takes part in, under plans of those levels whose roster may have more than
  // kCompleteRosterMax devices. Each draws holders anew, and the server sees who they are before it goes on (ADR 51).
  uint32_t attempts_max = kAttemptsMax;
  // Sums of one model, or tables of one column, over all jobs, that this device helps to open with its update in them
  // (openings.h).
  uint32_t openings_max = UINT32_MAX;
  // No job goes below the highest level that any had: for a device whose app says nothing of levels.
  bool keeps_level = false;
  // Whether the device counts its examples for plans that train nothing (proto/messages/analytics.h): a model says
  // little of one example, a table of counts says what it says in the clear. Only an app that knows its data can agree.
  bool accepts_analytics = false;
  // Not the app's to set: why the others of a cohort would end their session over this device, as the end of "and this
  // one ...": where there is an authority, and no certificate of it for this device that is good now. At `active` and
  // above identities are checked. Empty: they would not.
  std::string uncertified;

  // Whether the app set any limit.
  bool limits_spending() const;
  friend bool operator==(const PrivacyPolicy&, const PrivacyPolicy&) = default;
};

// Ranges. invalid_argument, which names the field.
Status validate(const PrivacyPolicy& policy);

// Whether the device may take part in `assignment` under `plan`, given what `state` says it did before. If
// its newest part was in this very attempt, that is counted in state.spent already: then what it costs is not
// added again. refused.
Status check_policy(const PrivacyPolicy& policy, const Plan& plan, const Assignment& assignment,
                    const ParticipantState& state);

// Whether a part that has not begun may begin. refused, for separation, if a plan that promises differential
// privacy is of an attempt that was counted before: who trains for it again adds other noise; both updates
// together would cost twice. refused, for attempts, if this device has given the round all that it gives.
Status check_new_part(const PrivacyPolicy& policy, const Plan& plan, const Assignment& assignment,
                      const ParticipantState& state);

// Remembers the level of a plan that this device goes on with: no later plan of the job promises less. To be durable
// before the update can leave.
void note_level(const Plan& plan, ParticipantState& state);

// Counts a part in the assignment: what it costs once an attempt, the attempt each time. To be durable before anything
// can leave that depends on the data; then a crash leaves it spent.
void count_part(const Plan& plan, const Assignment& assignment, ParticipantState& state);

}  // namespace coterie
