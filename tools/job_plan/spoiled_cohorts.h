// How many cohorts of a round liars spoil, where a rule compares cohorts. Pure.
#pragma once

#include <cstdint>

#include "aggregation/robust/aggregation_settings.h"

namespace coterie {

// The mean over all draws of the cohorts that have a liar, of `devices` in cohorts of even sizes:
// the sum of 1 - C(n - s, f) / C(n, f) over cohorts of s, with f liars among n devices. Precondition: liars <= devices.
double spoiled_cohorts(uint32_t devices, uint32_t cohorts, uint32_t liars);

struct RulePlan {
  uint32_t withstands = 0;  // spoiled cohorts: what the rule's liars_max says, or less than half of them
  uint32_t liars = 0;       // the most, among the devices of a round, who spoil no more than that on average
  double spoiled = 0;       // cohorts, by so many; and by one more
  double spoiled_by_more = 0;
};
// Precondition: the rule has cohorts enough.
RulePlan plan_rule(const AggregationSettings& aggregation, uint32_t devices, uint32_t cohorts);

}  // namespace coterie
