#include "device_sdk/c_api/policy.h"

#include <string>

#include "device_sdk/c_api/structs.h"

namespace coterie {

// The C interface's numbers are those of the wire.
static_assert(COTERIE_SECURITY_NONE == static_cast<int>(SecurityLevel::none));
static_assert(COTERIE_SECURITY_MASKED == static_cast<int>(SecurityLevel::masked));
static_assert(COTERIE_SECURITY_ACTIVE == static_cast<int>(SecurityLevel::active));
static_assert(COTERIE_SECURITY_ACTIVE_DP == static_cast<int>(SecurityLevel::active_dp));

Result<PrivacyPolicy> policy_of(const coterie_policy* given) {
  // What an app gets that says nothing.
  PrivacyPolicy policy{.security_level_min = SecurityLevel::active,
                       .cohort_min = kCohortMinDefault,
                       .openings_max = kOpeningsMaxDefault,
                       .keeps_level = true};
  if (given == nullptr) return policy;
  COT_ASSIGN(const coterie_policy known, known_part(given, "options.policy"));
  if (known.security_level_min > COTERIE_SECURITY_ACTIVE_DP) {
    return Error(ErrorCode::invalid_argument, "policy: security_level_min must be from 0 (none) to 3 (active_dp), is " +
                                                  std::to_string(known.security_level_min));
  }
  if (known.security_level_min != COTERIE_SECURITY_NONE || known.accepts_none != 0) {
    policy.security_level_min = static_cast<SecurityLevel>(known.security_level_min);
    policy.keeps_level = false;
  }
  if (known.cohort_min > 0) policy.cohort_min = known.cohort_min;
  policy.epsilon_round_max = known.epsilon_round_max;
  policy.epsilon_total_max = known.epsilon_total_max;
  policy.delta_max = known.delta_max;
  policy.separation_min = known.separation_min;
  if (known.corrupt_share_min != 0) policy.corrupt_share_min = known.corrupt_share_min;
  if (known.attempts_max != 0) policy.attempts_max = known.attempts_max;
  if (known.openings_max != 0) policy.openings_max = known.openings_max;
  policy.accepts_analytics = known.accepts_analytics != 0;
  COT_TRY(validate(policy));
  return policy;
}

void RefusalCallback::operator()(const RefusedPlan& refused) const {
  if (call == nullptr) return;
  const std::string reason(refused.error.reason());
  const coterie_refusal refusal{.struct_size = sizeof(coterie_refusal),
                                .reason = reason.c_str(),
                                .text = refused.error.message().c_str(),
                                .job = refused.job.value().c_str(),
                                .round = refused.round.round.value(),
                                .attempt = refused.round.attempt.value(),
                                .cohort_min = refused.promised.cohort_min,
                                .security_level = static_cast<coterie_security_level>(refused.promised.level),
                                .epsilon_round = refused.promised.epsilon_round,
                                .delta = refused.promised.delta,
                                .epsilon_spent = refused.spent.epsilon,
                                .delta_spent = refused.spent.delta};
  call(context, &refusal);
}

}  // namespace coterie
