// PlanFeatures: what a plan may ask for that devices of before did not know, as a set of bits.
//
// A device says with each check-in which of them it knows. One that says nothing knows what plans could ask for before
// there was this set (ADR 136), and refuses by itself what it does not know of that. So a server draws nobody for a
// plan that it could not follow. A bit has one meaning for ever; one that nobody knows yet means nothing.
#pragma once

#include <cstdint>

namespace coterie {

struct Plan;

using PlanFeatures = uint64_t;

namespace plan_feature {
inline constexpr PlanFeatures kEvaluation = 1u << 0;  // analytics of kind evaluation (evaluation.h)
}  // namespace plan_feature

// All that this version knows.
inline constexpr PlanFeatures kKnownFeatures = plan_feature::kEvaluation;

// Those that a device has to know for this plan.
PlanFeatures features_of(const Plan& plan);

}  // namespace coterie
