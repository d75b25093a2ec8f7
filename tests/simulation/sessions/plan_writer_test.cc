// A server that writes every field of its plans, in ./check: many of them recover nothing, and every rule that a device
// does not keep is caught.
#include "tests/simulation/sessions/plan_writer.h"

#include <gtest/gtest.h>

namespace coterie::simulation {
namespace {

constexpr uint64_t kCampaigns = 150;

TEST(PlanWriter, RecoversNoUpdateWithinThePolicies) {
  SessionVerdict total;
  for (uint64_t seed = 1; seed <= kCampaigns; ++seed) total += simulate_plans(seed);
  EXPECT_TRUE(total.clean()) << total.first_problem << " (" << total.problems()
                             << " in all); repeat it: coterie-simulation --sessions 1 --seed SEED";
  // Neither devices that refuse everything nor a server that asks for nothing prove anything.
  EXPECT_GT(total.opened_sums, kCampaigns);
  EXPECT_GT(total.refusals, 10 * kCampaigns);
  EXPECT_GT(total.plans - total.refusals, 10 * kCampaigns);
}

struct Broken {
  SessionMutant mutant;
  uint64_t SessionVerdict::*caught_as;
};

class BrokenPlanRule : public testing::TestWithParam<Broken> {};

TEST_P(BrokenPlanRule, IsCaughtWithinAFewSeeds) {
  constexpr uint64_t kSeedsMax = 100;
  SessionVerdict total;
  uint64_t seed = 1;
  for (; total.*GetParam().caught_as == 0 && seed <= kSeedsMax; ++seed)
    total += simulate_plans(seed, GetParam().mutant);
  EXPECT_GT(total.*GetParam().caught_as, 0u) << to_string(GetParam().mutant) << " went unnoticed in " << kSeedsMax
                                             << " campaigns, or was taken for something else: " << total.first_problem;
  RecordProperty("seeds", static_cast<int>(seed - 1));
}

INSTANTIATE_TEST_SUITE_P(EveryRule, BrokenPlanRule,
                         testing::Values(Broken{SessionMutant::takes_any_share, &SessionVerdict::recovered},
                                         Broken{SessionMutant::takes_any_attempt, &SessionVerdict::ground},
                                         Broken{SessionMutant::opens_again, &SessionVerdict::recovered},
                                         Broken{SessionMutant::counts_afterwards, &SessionVerdict::recovered},
                                         Broken{SessionMutant::takes_any_level, &SessionVerdict::recovered},
                                         Broken{SessionMutant::forgets_level, &SessionVerdict::lowered}),
                         [](const auto& entry) { return std::string(to_string(entry.param.mutant)); });

}  // namespace
}  // namespace coterie::simulation
