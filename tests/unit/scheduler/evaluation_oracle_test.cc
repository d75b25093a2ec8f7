// The interval of a federated accuracy against an oracle: shared/vectors/aggregation/ratio_ci.json.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "proto/messages/evaluation_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/evaluation_result.h"
#include "tests/support/paths.h"

namespace coterie {
namespace {

TEST(EvaluationResult, RatiosAreThoseOfTheOracle) {
  std::ifstream file(test::source_dir() + "/../shared/vectors/aggregation/ratio_ci.json");
  if (!file) GTEST_SKIP() << "SKIPPED: shared/vectors/aggregation is not there";
  const auto oracle = nlohmann::json::parse(file);
  AnalyticsSettings analytics;
  analytics.rules = {.kind = AnalyticsKind::evaluation,
                     .input_values = 4,
                     .values_max = 64,
                     .lane_max = evaluation_lane_max(64),
                     .evaluation = EvaluationRules{.models = {{Digest{{1}}, 9}}}};
  analytics.classes = {"no", "yes"};
  const EvaluationLayout layout(rules_of(analytics));
  std::vector<float> table(layout.lanes());
  const auto devices = oracle.at("n").size();
  for (size_t i = 0; i < devices; ++i) {
    std::vector<float> lanes(layout.lanes());
    put_moments(layout, 0, 0, {oracle["n"][i], oracle["k"][i], 0}, lanes);
    for (size_t lane = 0; lane < lanes.size(); ++lane) table[lane] += lanes[lane];
  }
  const EvaluationResult result = evaluation_result_of(analytics, table);
  const ScoredGroup& all = result.models[0].all;
  EXPECT_EQ(all.devices, static_cast<double>(devices));
  ASSERT_TRUE(all.accuracy && all.accuracy->low);
  EXPECT_NEAR(all.accuracy->value, oracle["p"].get<double>(), 1e-12);
  const double student = 1.97196;  // at 97.5 %, 199 degrees of freedom
  EXPECT_NEAR((*all.accuracy->high - *all.accuracy->low) / 2, student * oracle["se"].get<double>(), 1e-6);
}

}  // namespace
}  // namespace coterie
