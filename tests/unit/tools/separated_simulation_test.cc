// Simulated rounds of a job that keeps a device's parts apart (rounds.separation_min): who is counted when, and the
// model of the frames that these devices send.
#include <gmock/gmock.h>

#include <set>

#include "tests/unit/tools/framed_rounds.h"
#include "tools/demo/selection_option.h"

namespace coterie::test {
namespace {

constexpr uint32_t kSeparation = 3;

class SeparatedSimulation : public FramedRounds {
 protected:
  void SetUp() override {
    FramedRounds::SetUp();
    job_.rounds.goal_count = 2;
    job_.rounds.goal_count_min = 1;
    job_.rounds.separation_min = kSeparation;
    ASSERT_TRUE(validate(job_).empty());
  }
};

// By an account of its own of who was counted when.
TEST_F(SeparatedSimulation, HasTheModelOfTheFramesOfDevicesThatHaveRested) {
  std::vector<uint64_t> counted_last(kDevicesOfRanks);
  expect_the_model_of_frames([&](uint64_t round) {
    std::vector<uint32_t> resting;
    for (uint32_t device = 0; device < kDevicesOfRanks; ++device) {
      if (counted_last[device] > 0 && round < counted_last[device] + kSeparation) resting.push_back(device);
    }
    VirtualRound drawn{.is_failed = true};
    for (uint32_t attempt = 1; drawn.is_failed; ++attempt) {
      drawn = draw_round(fleet_, job_, round, attempt, {}, resting);
    }
    for (const uint32_t device : drawn.counted) counted_last[device] = round;
    return drawn;
  });
  EXPECT_THAT(counted_last, testing::Contains(kRoundsOfRanks)) << "or nothing was drawn";
}

TEST_F(SeparatedSimulation, TakesTurnsWhereNobodyElseIsLeft) {
  fleet_.dropout = 0;
  const auto resting = [&](uint64_t rounds) { return resting_after(fleet_, job_, rounds)->devices(); };
  for (uint64_t round = 2; round <= 9; ++round) {
    EXPECT_EQ(resting(round).size(), 4u) << "two of each of two rounds";
    std::set<uint32_t> all;
    for (const uint64_t last : {round, round + 1}) {
      const std::vector<uint32_t> own = resting(last);
      all.insert(own.begin(), own.end());
    }
    EXPECT_EQ(all.size(), kDevicesOfRanks) << "the third round's are the other two";
  }
}

TEST_F(SeparatedSimulation, GoesOnFromACheckpointWithWhoRests) {
  const RankEnd whole = simulate(1, 8)[0];
  ASSERT_OK(whole.status);
  ASSERT_OK(simulate(2, 3, true)[0].status);
  ASSERT_OK(simulate(1, 5, true)[0].status);
  for (const RankEnd& end : simulate(3, 8, true)) {
    ASSERT_OK(end.status);
    EXPECT_EQ(end.model, whole.model);
    EXPECT_EQ(end.losses, whole.losses);
  }
  job_.rounds.separation_min = 0;
  EXPECT_NE(simulate(1, 8)[0].model, whole.model);
}

// As rules that read what is known of devices draw among those who wait.
TEST_F(SeparatedSimulation, KeepsThePartsApartWithASelectionRule) {
  fleet_.dropout = 0;
  job_.rounds.selection = *parse_selection("balanced");
  const std::vector<uint32_t> resting = {0, 2, 4, 5};
  EXPECT_THAT(draw_round(fleet_, job_, 1, 1, {}, resting).counted, testing::ElementsAre(1, 3));
  job_.rounds.goal_count = 1;
  job_.rounds.over_selection = 1;  // fewer tickets than devices that wait
  std::set<uint32_t> drawn;
  for (uint64_t round = 1; round <= 40; ++round)
    drawn.insert(draw_round(fleet_, job_, round, 1, {}, resting).counted[0]);
  EXPECT_THAT(drawn, testing::ElementsAre(1, 3));
}

TEST_F(SeparatedSimulation, SaysThatTooManyRest) {
  fleet_.dropout = 0;
  job_.rounds.goal_count = job_.rounds.goal_count_min = 4;
  EXPECT_ERROR(simulate(1)[0].status, ErrorCode::timed_out,
               "round 2 failed in all of its 10 attempts: 2 updates came, 4 are needed at least; of 6 devices 2 may be "
               "asked, as /rounds/separation_min is 3");
}

}  // namespace
}  // namespace coterie::test
