#include "scheduler/job/plan_privacy.h"

#include <cmath>

#include "proto/messages/cipher_suite.h"
#include "scheduler/job/adaptive_clip_rules.h"
#include "scheduler/job/watch_norm.h"
#include "secure/dp/distributed/device_noise.h"

namespace coterie {

Result<PrivacyRules> privacy_rules_of(const HorizontalSettings& settings, uint64_t value_count) {
  const PrivacySettings& privacy = settings.privacy;
  if (privacy.level == SecurityLevel::none) return PrivacyRules{};
  PrivacyRules rules;
  rules.level = privacy.level;
  rules.cohort_min = privacy.cohort_min;
  rules.roster_max = cohort_goal(settings);
  rules.corrupt_share = privacy.corrupt_share;
  rules.dropout_share = privacy.dropout_share;
  rules.cipher_suite = static_cast<uint8_t>(CipherSuite::aes256_ctr);
  if (privacy.level == SecurityLevel::active_dp) {
    const double clip_norm =
        std::hypot(static_cast<double>(settings.update.clip_l2), clip_rules_of(settings).bit, watch_norm_of(settings));
    COT_TRY(add_device_noise(rules, {.value_count = update_value_count(settings, value_count),
                                     .cohort_count = cohort_count(settings),
                                     .clip_norm = clip_norm,
                                     .noise_multiplier = privacy.noise_multiplier,
                                     // All rounds have the same share of the job's delta, as deltas add up.
                                     .delta = privacy.target_delta / settings.rounds.count}));
  }
  return rules;
}

}  // namespace coterie
