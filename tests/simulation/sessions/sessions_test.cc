// Sessions of secure aggregation in ./check: a hundred bad days clean, the same seed the same trace, and every broken
// variant caught by the invariant that is there for it.
#include <gtest/gtest.h>

#include "tests/simulation/sessions/session_world.h"

namespace coterie::simulation {
namespace {

constexpr uint64_t kSessions = 100;

TEST(SessionSimulation, AHundredSessionsGiveTheRightSumOrNone) {
  SessionVerdict total;
  for (uint64_t seed = 1; seed <= kSessions; ++seed) total += simulate_session(session_options_from_seed(seed));
  EXPECT_TRUE(total.clean()) << total.first_problem << " (" << total.problems()
                             << " in all); repeat it: coterie-simulation --sessions 1 --seed SEED";
  // A simulation in which nothing bad happens proves nothing, and neither does one in which nothing good does.
  EXPECT_GT(total.sums, kSessions / 5);
  EXPECT_GT(total.hostile, kSessions / 5);
  EXPECT_GT(total.lies, kSessions / 10);
  EXPECT_GT(total.faults, kSessions / 10);
  EXPECT_GT(total.crashes, kSessions / 2);
  EXPECT_GT(total.openings, 2 * kSessions);
}

TEST(SessionSimulation, TheSameSeedGivesTheSameTrace) {
  for (uint64_t seed = 20; seed < 30; ++seed) {
    const SessionVerdict first = simulate_session(session_options_from_seed(seed));
    const SessionVerdict second = simulate_session(session_options_from_seed(seed));
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.events, second.events) << "seed " << seed;
  }
}

struct Broken {
  SessionMutant mutant;
  uint64_t SessionVerdict::*caught_as;
};

class BrokenSession : public testing::TestWithParam<Broken> {};

TEST_P(BrokenSession, IsCaughtWithinAFewSeeds) {
  constexpr uint64_t kSeedsMax = 200;
  SessionVerdict total;
  uint64_t seed = 1;
  for (; total.*GetParam().caught_as == 0 && seed <= kSeedsMax; ++seed) {
    total += simulate_session(session_options_from_seed(seed, GetParam().mutant));
  }
  EXPECT_GT(total.*GetParam().caught_as, 0u) << to_string(GetParam().mutant) << " went unnoticed in " << kSeedsMax
                                             << " sessions, or was taken for something else: " << total.first_problem;
  RecordProperty("seeds", static_cast<int>(seed - 1));
}

INSTANTIATE_TEST_SUITE_P(EveryInvariant, BrokenSession,
                         testing::Values(Broken{SessionMutant::sums_twice, &SessionVerdict::wrong},
                                         Broken{SessionMutant::no_check_lanes, &SessionVerdict::wrong},
                                         Broken{SessionMutant::answers_twice, &SessionVerdict::both_kinds},
                                         Broken{SessionMutant::too_many_corrupt, &SessionVerdict::opened_twice},
                                         Broken{SessionMutant::no_confirmations, &SessionVerdict::two_sets},
                                         Broken{SessionMutant::acts_before_saving, &SessionVerdict::two_sets},
                                         Broken{SessionMutant::no_confirmations, &SessionVerdict::small},
                                         Broken{SessionMutant::trusts_anybody, &SessionVerdict::false_roster},
                                         Broken{SessionMutant::forgets_input, &SessionVerdict::failed},
                                         Broken{SessionMutant::no_deadlines, &SessionVerdict::stuck}),
                         [](const auto& entry) {
                           return std::string(to_string(entry.param.mutant)) + "_" + std::to_string(entry.index);
                         });

}  // namespace
}  // namespace coterie::simulation
