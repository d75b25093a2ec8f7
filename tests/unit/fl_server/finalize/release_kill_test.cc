// The first seeds of the storm; the nightly test goes on.
#include "tests/unit/fl_server/finalize/release_world.h"

namespace coterie {
namespace {

#ifndef COT_STORM_SEEDS
#define COT_STORM_SEEDS 12
#endif

struct Storms {
  const char* name;
  NoiseMechanism mechanism;
  bool adapts_clip;
};

class ReleaseKill : public testing::TestWithParam<Storms> {};

TEST_P(ReleaseKill, TheLedgerNeverUnderstatesAndNoSumGetsTwoNoises) {
  MacKey key;
  RoundNoiseMaker noise(key);
  uint64_t deaths = 0, released = 0, drawn = 0;
  for (uint64_t seed = 1; seed <= COT_STORM_SEEDS; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::ReleaseWorld world(seed, noise, GetParam().mechanism, GetParam().adapts_clip);
    world.run();
    if (HasFailure()) return;
    deaths += world.deaths();
    released += world.released();
    drawn += world.drawn();
  }
  RecordProperty("deaths", std::to_string(deaths));
  std::printf("%d seeds: %llu deaths, %llu attempts drew noise, %llu models released\n", COT_STORM_SEEDS,
              static_cast<unsigned long long>(deaths), static_cast<unsigned long long>(drawn),
              static_cast<unsigned long long>(released));
  EXPECT_GT(deaths, 3 * COT_STORM_SEEDS);
  EXPECT_GT(released, 2 * COT_STORM_SEEDS);
  EXPECT_GT(drawn, released) << "some attempts fail after noise is drawn";
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, ReleaseKill,
                         testing::Values(Storms{"independent", NoiseMechanism::independent, false},
                                         Storms{"tree", NoiseMechanism::tree, false},
                                         Storms{"adaptive_clip", NoiseMechanism::independent, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace coterie
