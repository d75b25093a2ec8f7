#include "device_sdk/client/openings.h"

#include <algorithm>
#include <string>

namespace coterie {
namespace {

// What is known of the model, moved to the place of the newest.
ModelOpenings& newest_for(const Digest& model, ParticipantState& state) {
  ModelOpenings openings{.model = model};
  const auto known = std::ranges::find(state.openings, model, &ModelOpenings::model);
  if (known != state.openings.end()) {
    openings = *known;
    state.openings.erase(known);
  }
  if (state.openings.size() >= kOpeningsRememberedMax) state.openings.erase(state.openings.begin());
  state.openings.push_back(openings);
  return state.openings.back();
}

}  // namespace

Status check_openings(const PrivacyPolicy& policy, const Plan& plan, const Assignment& assignment,
                      const ParticipantState& state) {
  const auto of_model = std::ranges::find(state.openings, assignment.model, &ModelOpenings::model);
  if (of_model == state.openings.end()) return {};
  // Below active it would tell what is told already.
  const bool is_told = of_model->is_told && plan.privacy.level >= SecurityLevel::active;
  const uint64_t count = uint64_t{of_model->sums} + (is_told ? 1 : 0);
  if (count < policy.openings_max) return {};
  return Error(ErrorCode::refused,
               "plan: this device has opened its update of this model " + std::to_string(count) +
                   " times, in any job, and it allows " + std::to_string(policy.openings_max),
               refusal_reason::kOpenings);
}

void count_opening(const Assignment& assignment, ParticipantState& state) {
  ModelOpenings& openings = newest_for(assignment.model, state);
  openings.sums = std::min(openings.sums, UINT32_MAX - 1) + 1;
}

void note_told(const Plan& plan, const Assignment& assignment, ParticipantState& state) {
  if (plan.privacy.level < SecurityLevel::active) newest_for(assignment.model, state).is_told = true;
}

}  // namespace coterie
