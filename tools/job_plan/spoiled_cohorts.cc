#include "tools/job_plan/spoiled_cohorts.h"

#include <algorithm>
#include <string_view>

#include "aggregation/robust/robust_rule.h"
#include "base/assert.h"

namespace coterie {
namespace {

uint32_t withstands(const AggregationSettings& aggregation, uint32_t cohorts) {
  const auto settings = aggregation.rule->settings;
  for (size_t i = 0; i < settings.size(); ++i) {
    if (std::string_view(settings[i].name) == "liars_max") return static_cast<uint32_t>(aggregation.values[i]);
  }
  return (cohorts - 1) / 2;
}

}  // namespace

double spoiled_cohorts(uint32_t devices, uint32_t cohorts, uint32_t liars) {
  COT_ASSERT(liars <= devices && cohorts >= 1);
  double spoiled = 0;
  for (uint64_t cohort = 0; cohort < cohorts; ++cohort) {
    const uint64_t size = devices * (cohort + 1) / cohorts - devices * cohort / cohorts;
    double clean = 1;  // C(n - s, f) / C(n, f), factor by factor
    for (uint64_t liar = 0; liar < liars; ++liar) {
      const uint64_t others = devices - std::min<uint64_t>(devices, size + liar);
      clean *= static_cast<double>(others) / static_cast<double>(devices - liar);
    }
    spoiled += 1 - clean;
  }
  return spoiled;
}

RulePlan plan_rule(const AggregationSettings& aggregation, uint32_t devices, uint32_t cohorts) {
  constexpr double kRounding = 1e-9;  // one liar spoils one cohort
  RulePlan plan{.withstands = withstands(aggregation, cohorts)};
  for (uint32_t liars = 0; liars <= devices; ++liars) {
    plan.spoiled_by_more = spoiled_cohorts(devices, cohorts, liars);
    if (plan.spoiled_by_more > plan.withstands + kRounding) break;
    plan.liars = liars;
    plan.spoiled = plan.spoiled_by_more;
  }
  return plan;
}

}  // namespace coterie
