#include "device_sdk/client/openings.h"

#include <algorithm>
#include <string>

#include "device_sdk/client/opening_key.h"

namespace coterie {
namespace {

// What is known of the key, moved to the place of the newest.
ModelOpenings& newest_for(const Digest& key, ParticipantState& state) {
  ModelOpenings openings{.model = key};
  const auto known = std::ranges::find(state.openings, key, &ModelOpenings::model);
  if (known != state.openings.end()) {
    openings = *known;
    state.openings.erase(known);
  }
  // The oldest is forgotten: memory is bounded, and a server that asks for an old model again has to run through as
  // many others first.
  if (state.openings.size() >= kOpeningsRememberedMax) state.openings.erase(state.openings.begin());
  state.openings.push_back(openings);
  return state.openings.back();
}

}  // namespace

Status check_openings(const PrivacyPolicy& policy, const Plan& plan, const Assignment& assignment,
                      const ParticipantState& state) {
  const Digest key = opening_key(plan, assignment);
  uint64_t count = 0;
  for (const ModelOpenings& known : state.openings) {
    if (!share_openings(known.model, key)) continue;
    // Below active it would tell what is told already.
    const bool is_told = known.is_told && plan.privacy.level >= SecurityLevel::active;
    count += uint64_t{known.sums} + (is_told ? 1 : 0);
  }
  if (count < policy.openings_max) return {};
  const std::string what = plan.analytics && plan.analytics->evaluation ? "answered for its examples "
                           : plan.analytics                             ? "answered for this column or target "
                                                                        : "opened its update of this model ";
  return Error(ErrorCode::refused,
               "plan: this device has " + what + std::to_string(count) + " times, in any job, and it allows " +
                   std::to_string(policy.openings_max),
               refusal_reason::kOpenings);
}

void count_opening(const Plan& plan, const Assignment& assignment, ParticipantState& state) {
  ModelOpenings& openings = newest_for(opening_key(plan, assignment), state);
  openings.sums = std::min(openings.sums, UINT32_MAX - 1) + 1;
}

void note_told(const Plan& plan, const Assignment& assignment, ParticipantState& state) {
  if (plan.privacy.level >= SecurityLevel::active) return;
  newest_for(opening_key(plan, assignment), state).is_told = true;
}

}  // namespace coterie
