#include "device_sdk/client/privacy_policy.h"

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <string>

#include "proto/messages/analytics_lanes.h"

namespace coterie {
namespace {

// Sums of decimals that a person would call equal to the limit: ten times 0.1 and 1.
constexpr double kRounding = 1e-12;

std::string words(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr};
}

Error bad(const char* what) { return Error(ErrorCode::invalid_argument, std::string("policy: ") + what); }

Error refused(const std::string& what, std::string_view reason) {
  return Error(ErrorCode::refused, "plan: " + what, reason);
}

// "asks for a histogram of this device's examples"
std::string asked_for(const AnalyticsRules& rules) {
  if (rules.kind == AnalyticsKind::evaluation) return "asks for an evaluation of models on this device's examples";
  if (rules.kind == AnalyticsKind::activation_ranges) {
    return "asks for the ranges of a model's activations on this device's examples";
  }
  return "asks for a " + std::string(to_string(rules.kind)) + " of this device's examples";
}

// Written so that a NaN is over every finite limit, and the plan refused.
bool passes(double sum, double limit) { return !std::isinf(limit) && !(sum - limit <= limit * kRounding); }

double limit_of(double given, double when_not_set) { return given > 0 ? given : when_not_set; }

Status check_spending(const PrivacyPolicy& policy, const PrivacyRules& privacy, const DeviceSpent& spent,
                      bool is_counted) {
  if (privacy.epsilon_round <= 0) {
    if (!policy.limits_spending()) return {};
    return refused("promises no differential privacy, this device limits what a round may cost",
                   refusal_reason::kEpsilonRound);
  }
  const double round_max = limit_of(policy.epsilon_round_max, kEpsilonRoundMax);
  const double total_max = limit_of(policy.epsilon_total_max, kEpsilonTotalMax);
  const double delta_max = limit_of(policy.delta_max, kDeltaMax);
  if (passes(privacy.epsilon_round, round_max)) {
    return refused("a round costs epsilon " + words(privacy.epsilon_round) + ", this device allows " + words(round_max),
                   refusal_reason::kEpsilonRound);
  }
  const double epsilon = spent.epsilon + (is_counted ? 0 : privacy.epsilon_round);
  if (passes(epsilon, total_max)) {
    return refused("with epsilon " + words(privacy.epsilon_round) + " of this round, epsilon " + words(epsilon) +
                       " would be spent in all, this device allows " + words(total_max),
                   refusal_reason::kEpsilonTotal);
  }
  // Epsilons and deltas are added, which holds for whatever mechanisms and servers there were (basic composition).
  const double delta = spent.delta + (is_counted ? 0 : privacy.delta);
  if (passes(delta, delta_max)) {
    return refused("with delta " + words(privacy.delta) + " of this round, delta " + words(delta) +
                       " would be spent in all, this device allows " + words(delta_max),
                   refusal_reason::kDelta);
  }
  return {};
}

Status check_separation(const PrivacyPolicy& policy, const Assignment& assignment, const ParticipantState& state) {
  const auto last = state.took_part.find(assignment.job);
  if (policy.separation_min <= 1 || last == state.took_part.end() || last->second >= assignment.model_version)
    return {};
  const uint64_t rounds = assignment.model_version.value() - last->second.value();
  if (rounds >= policy.separation_min) return {};
  return refused("this device took part " + std::to_string(rounds) + " rounds ago, it asks for " +
                     std::to_string(policy.separation_min) + " between two parts in a job",
                 refusal_reason::kSeparation);
}

// Attempts that this device took part in, of the round that begins with the assignment's model.
uint32_t attempts_of(const Assignment& assignment, const ParticipantState& state) {
  const auto last = state.took_part.find(assignment.job);
  if (last == state.took_part.end() || last->second != assignment.model_version) return 0;
  const auto attempts = state.attempts.find(assignment.job);
  return attempts == state.attempts.end() ? 0 : attempts->second;
}

SecurityLevel highest_before(const PrivacyPolicy& policy, const JobId& job, const ParticipantState& state) {
  SecurityLevel highest = SecurityLevel::none;
  for (const auto& [of, level] : state.levels) {
    if (of == job || policy.keeps_level) highest = std::max(highest, level);
  }
  return highest;
}

bool is_set(double limit) { return limit > 0 && !std::isinf(limit); }

}  // namespace

bool PrivacyPolicy::limits_spending() const {
  return is_set(epsilon_round_max) || is_set(epsilon_total_max) || is_set(delta_max);
}

Status validate(const PrivacyPolicy& policy) {
  if (policy.security_level_min > SecurityLevel::active_dp)
    return bad("security_level_min must be from 0 (none) to 3 (active_dp)");
  if (policy.cohort_min < kRosterSizeMin || policy.cohort_min > kRosterSizeMax)
    return bad("cohort_min must be from 2 to 10000");
  if (!(policy.epsilon_round_max >= 0)) return bad("epsilon_round_max must be >= 0 (0: 8; infinity: no limit)");
  if (!(policy.epsilon_total_max >= 0)) return bad("epsilon_total_max must be >= 0 (0: 32; infinity: no limit)");
  if (!(policy.delta_max >= 0 && policy.delta_max < 1)) return bad("delta_max must be in [0, 1) (0: 1e-5)");
  if (!(policy.corrupt_share_min >= kCorruptShareMin && policy.corrupt_share_min <= kCorruptShareMax))
    return bad("corrupt_share_min must be in [0.1, 1/3]");
  if (policy.attempts_max == 0) return bad("attempts_max must be at least 1");
  if (policy.openings_max == 0) return bad("openings_max must be at least 1");
  return {};
}

Status check_policy(const PrivacyPolicy& policy, const Plan& plan, const Assignment& assignment,
                    const ParticipantState& state) {
  const PrivacyRules& privacy = plan.privacy;
  if (plan.analytics && !policy.accepts_analytics) {
    return refused(asked_for(*plan.analytics) + ", and its app has not said that it accepts analytics",
                   refusal_reason::kAnalytics);
  }
  if (privacy.level < policy.security_level_min) {
    return refused("promises security level " + std::string(to_string(privacy.level)) + ", this device asks for " +
                       std::string(to_string(policy.security_level_min)) + " at least",
                   refusal_reason::kSecurityLevel);
  }
  // A server that was taken over could otherwise ask the same devices for plain updates, in the same job.
  if (const SecurityLevel before = highest_before(policy, plan.job, state); privacy.level < before) {
    return refused("promises security level " + std::string(to_string(privacy.level)) + ", this device has seen " +
                       std::string(to_string(before)) + " and does not go down",
                   refusal_reason::kSecurityLevel);
  }
  if (privacy.level != SecurityLevel::none && privacy.cohort_min < policy.cohort_min) {
    return refused("a sum may be of " + std::to_string(privacy.cohort_min) + " devices, this device asks for " +
                       std::to_string(policy.cohort_min) + " at least",
                   refusal_reason::kCohortMin);
  }
  if (privacy.level >= SecurityLevel::active && !(privacy.corrupt_share >= policy.corrupt_share_min)) {
    return refused("counts on a share of corrupt devices of " + words(privacy.corrupt_share) +
                       ", this device asks for " + words(policy.corrupt_share_min) + " at least",
                   refusal_reason::kCorruptShare);
  }
  if (!policy.uncertified.empty() && privacy.level >= SecurityLevel::active) {
    return refused(
        "at security level " + std::string(to_string(privacy.level)) +
            " others end their session over a device without a certificate of their authority, and this one " +
            policy.uncertified,
        refusal_reason::kCertificate);
  }
  // An attempt that was counted once costs nothing again: a device that restarts in it is not charged twice.
  COT_TRY(check_spending(policy, privacy, state.spent, state.spent.last == assignment.round));
  return check_separation(policy, assignment, state);
}

Status check_new_part(const PrivacyPolicy& policy, const Plan& plan, const Assignment& assignment,
                      const ParticipantState& state) {
  if (plan.privacy.epsilon_round > 0 && state.spent.last == assignment.round)
    return refused("this device has taken part in this attempt", refusal_reason::kSeparation);
  const bool draws_holders =
      plan.privacy.level >= SecurityLevel::active && plan.privacy.roster_max > kCompleteRosterMax;
  if (!draws_holders || attempts_of(assignment, state) < policy.attempts_max) return {};
  return refused("this device has taken part in " + std::to_string(policy.attempts_max) +
                     " attempts of this round, each of which drew holders: it gives no more",
                 refusal_reason::kAttempts);
}

void note_level(const Plan& plan, ParticipantState& state) {
  if (plan.privacy.level == SecurityLevel::none) return;
  SecurityLevel& level = state.levels[plan.job];
  level = std::max(level, plan.privacy.level);
}

void count_part(const Plan& plan, const Assignment& assignment, ParticipantState& state) {
  state.attempts[assignment.job] = std::min(attempts_of(assignment, state), UINT32_MAX - 1) + 1;
  state.took_part[assignment.job] = assignment.model_version;
  if (plan.privacy.epsilon_round <= 0 || state.spent.last == assignment.round) return;
  state.spent.epsilon = std::min(state.spent.epsilon + plan.privacy.epsilon_round, DBL_MAX);
  state.spent.delta += plan.privacy.delta;
  state.spent.last = assignment.round;
}

}  // namespace coterie
