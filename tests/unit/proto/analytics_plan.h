// A valid plan of a job that counts.
#pragma once

#include "proto/messages/analytics_lanes.h"
#include "tests/unit/proto/rejection.h"

namespace coterie::test {

inline Plan plan_with(const AnalyticsRules& rules) {
  return changed<Plan>([&](Plan& plan) {
    const FixedPointSpec fixed_point = FixedPointSpec::finest(static_cast<float>(rules.lane_max), 1, 1000);
    plan = {.job = plan.job,
            .training = {},
            .update = {.value_count = lane_count(rules), .clip_l2 = clip_of(rules), .fixed_point = fixed_point},
            .privacy = {},
            .analytics = rules};
  });
}

}  // namespace coterie::test
