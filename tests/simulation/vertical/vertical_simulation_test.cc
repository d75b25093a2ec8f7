// Vertical jobs in ./check: a short set of seeds clean, the same seed the same trace, and every broken variant caught.
#include <gtest/gtest.h>

#include "tests/simulation/vertical/vertical_world.h"

namespace coterie::simulation {
namespace {

constexpr uint64_t kSeeds = 24;  // 10,000 jobs at night: coterie-simulation --vertical

TEST(VerticalSimulation, EveryJobEndsWithTheModelOfAnUndisturbedRunOrWithAReason) {
  VerticalVerdict total;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) total += simulate_vertical(vertical_options_from_seed(seed));
  EXPECT_TRUE(total.clean()) << total.first_problem << " (" << total.problems() << " problems)";
  // A simulation in which nothing bad happens proves nothing.
  EXPECT_GT(total.kills, kSeeds / 2);
  EXPECT_GT(total.coordinator_kills, 0u);
  EXPECT_GT(total.cuts, 0u);
  EXPECT_GT(total.pauses, 0u);
  EXPECT_GT(total.meetings, 3 * kSeeds) << "parties meet more than once in a job";
  EXPECT_GT(total.replayed, 0u) << "a unit is done once more behind a loss";
  EXPECT_GT(total.cancelled, 0u);
  EXPECT_GT(total.done, kSeeds);
}

TEST(VerticalSimulation, TheSameSeedGivesTheSameTrace) {
  for (const uint64_t seed : {2u, 5u}) {
    const VerticalVerdict first = simulate_vertical(vertical_options_from_seed(seed));
    const VerticalVerdict second = simulate_vertical(vertical_options_from_seed(seed));
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.events, second.events) << "seed " << seed;
  }
}

class BrokenVerticalVariant : public testing::TestWithParam<VerticalMutant> {};

TEST_P(BrokenVerticalVariant, IsCaughtWithinAFewWorlds) {
  constexpr uint64_t kWorldsMax = 60;
  VerticalVerdict total;
  // A position is stale only behind a third checkpoint, which few lives reach: world 58 is the first.
  const uint64_t first = GetParam() == VerticalMutant::stale_position ? 51 : 1;
  uint64_t seed = first;
  for (; total.clean() && seed < first + kWorldsMax; ++seed) {
    total += simulate_vertical(vertical_options_from_seed(seed, GetParam()));
  }
  EXPECT_FALSE(total.clean()) << to_string(GetParam()) << " went unnoticed in " << kWorldsMax << " worlds";
  RecordProperty("worlds", static_cast<int>(seed - first));
}

INSTANTIATE_TEST_SUITE_P(EveryRule, BrokenVerticalVariant,
                         testing::ValuesIn(all_vertical_mutants().begin() + 1, all_vertical_mutants().end()),
                         [](const auto& entry) { return std::string(to_string(entry.param)); });

}  // namespace
}  // namespace coterie::simulation
