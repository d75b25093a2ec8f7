#include "tools/simulate/virtual_round.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace coterie {
namespace {

VirtualFleet fleet_of(uint32_t devices) {
  VirtualFleet fleet;
  fleet.devices = devices;
  fleet.examples_of = [](uint32_t device) { return uint64_t{10} * (device + 1); };
  return fleet;
}

HorizontalSettings job_for(uint32_t goal) {
  HorizontalSettings job;
  job.training.local_epochs = 1;
  job.rounds.goal_count = goal;
  job.rounds.goal_count_min = 2;
  return job;
}

uint64_t all_but_counted(const VirtualRound& round) { return round.lost + round.late + round.surplus; }

TEST(VirtualRound, HasAllDevicesWhereTheJobWantsThem) {
  const VirtualRound round = draw_round(fleet_of(7), job_for(7), 1, 1);
  std::vector<uint32_t> all(7);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(round.counted, all);
  EXPECT_EQ(all_but_counted(round), 0u);
  EXPECT_DOUBLE_EQ(round.seconds, 0.07);
}

TEST(VirtualRound, DrawsEachDeviceAsOftenAsAnyOther) {
  const VirtualFleet fleet = fleet_of(10);
  std::vector<int> drawn(10);
  for (uint64_t number = 1; number <= 3'000; ++number) {
    const VirtualRound round = draw_round(fleet, job_for(3), number, 1);
    ASSERT_EQ(round.counted.size(), 3u);
    EXPECT_EQ(std::set(round.counted.begin(), round.counted.end()).size(), 3u);
    for (const uint32_t device : round.counted) ++drawn[device];
  }
  for (const int count : drawn) EXPECT_NEAR(count, 900, 125);  // standard deviation 25
}

TEST(VirtualRound, FollowsFromSeedRoundAndAttempt) {
  VirtualFleet fleet = fleet_of(1'000'000);
  const auto first = draw_round(fleet, job_for(5), 1, 1).counted;
  EXPECT_EQ(draw_round(fleet, job_for(5), 1, 1).counted, first);
  EXPECT_NE(draw_round(fleet, job_for(5), 2, 1).counted, first);
  EXPECT_NE(draw_round(fleet, job_for(5), 1, 2).counted, first);
  fleet.seed = 2;
  EXPECT_NE(draw_round(fleet, job_for(5), 1, 1).counted, first);
}

TEST(VirtualRound, DrawsAmongThoseWhoDoNotRest) {
  const std::vector<uint32_t> waiting = {2, 5, 6, 9}, resting = {0, 1, 3, 4, 7, 8};
  std::set<uint32_t> drawn;
  for (uint64_t number = 1; number <= 50; ++number) {
    const VirtualRound round = draw_round(fleet_of(10), job_for(3), number, 1, {}, resting);
    ASSERT_EQ(round.counted.size(), 3u);
    drawn.insert(round.counted.begin(), round.counted.end());
  }
  EXPECT_EQ(drawn, std::set(waiting.begin(), waiting.end()));
  const std::vector<uint32_t> all_but_one = {0, 1, 2, 3, 4, 5, 6, 8, 9};
  EXPECT_TRUE(draw_round(fleet_of(10), job_for(3), 1, 1, {}, all_but_one).is_failed);
}

TEST(VirtualRound, TakesTheFirstUpdatesAndCountsTheRest) {
  HorizontalSettings job = job_for(3);
  job.rounds.over_selection = 2;  // 6 of 6, at 0.01 s to 0.06 s
  const VirtualRound full = draw_round(fleet_of(6), job, 1, 1);
  EXPECT_EQ(full.counted, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(full.surplus, 3u);
  EXPECT_DOUBLE_EQ(full.seconds, 0.03);
  job.rounds.goal_count = 5;
  job.rounds.over_selection = 1.2;
  job.rounds.collecting_max = Millis(35);
  const VirtualRound thin = draw_round(fleet_of(6), job, 1, 1);
  EXPECT_EQ(thin.counted, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(thin.late, 3u);
  job.rounds.goal_count_min = 4;  // waited for beyond the deadline
  EXPECT_EQ(draw_round(fleet_of(6), job, 1, 1).counted, (std::vector<uint32_t>{0, 1, 2, 3}));
}

TEST(VirtualRound, LosesWhomTheTraceNamesAndFailsWithTooFew) {
  VirtualFleet fleet = fleet_of(3);
  fleet.trace = DropTrace::parse("2,1\n1,2\n2,2\n", 3).value();
  const VirtualRound first = draw_round(fleet, job_for(3), 1, 1);
  EXPECT_EQ(first.counted, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(first.lost, 1u);
  EXPECT_EQ(first.asked, (std::vector<uint32_t>{0, 1, 2}));
  const VirtualRound second = draw_round(fleet, job_for(3), 2, 1);
  EXPECT_TRUE(second.is_failed);
  EXPECT_TRUE(second.counted.empty());
  EXPECT_EQ(second.asked.size(), 3u);
  EXPECT_EQ(second.drawn, second.counted.size() + all_but_counted(second));
}

TEST(VirtualRound, LosesTheShareThatIsAskedFor) {
  VirtualFleet fleet = fleet_of(1'000);
  fleet.dropout = 0.1;
  fleet.speed_spread = 1;
  uint64_t lost = 0;
  for (uint64_t number = 1; number <= 20; ++number) {
    const VirtualRound round = draw_round(fleet, job_for(1'000), number, 1);
    EXPECT_EQ(round.drawn, round.counted.size() + all_but_counted(round));
    lost += round.lost;
  }
  EXPECT_NEAR(static_cast<double>(lost), 2'000, 215);  // standard deviation 42
}

TEST(VirtualRound, DrawsByTheJobsRuleAndWhatIsKnown) {
  HorizontalSettings job = job_for(3);
  job.rounds.selection = SelectionSettings::of("power_of_choice").with("candidates_ratio", 20);
  std::vector<TrainedReport> reports(10);
  for (uint8_t i = 0; i < 10; ++i) reports[i] = {.loss_level = i, .counted = 1};
  const ReportOf known = [&](uint32_t device) { return &reports[device]; };
  EXPECT_EQ(draw_round(fleet_of(10), job, 1, 1, known).counted, (std::vector<uint32_t>{7, 8, 9}));
  const ReportOf but_one = [&](uint32_t device) { return device == 2 ? nullptr : &reports[device]; };
  EXPECT_EQ(draw_round(fleet_of(10), job, 1, 1, but_one).counted, (std::vector<uint32_t>{2, 8, 9}));
  const std::vector<uint32_t> unknown = draw_round(fleet_of(10), job, 1, 1).counted;
  EXPECT_EQ(unknown.size(), 3u);
  EXPECT_EQ(draw_round(fleet_of(10), job, 1, 1).counted, unknown) << "it follows from the seed";
  EXPECT_NE(draw_round(fleet_of(10), job, 2, 1).counted, unknown);
}

// At version 1 there is no bonus for who was not drawn for long: ln(1) = 0.
TEST(VirtualRound, DrawsTheSecondRoundForVersionOne) {
  HorizontalSettings plain = job_for(3);
  plain.rounds.selection = SelectionSettings::of("utility").with("staleness_bonus", 0).with("ratio_max", 64);
  HorizontalSettings with_bonus = plain;
  with_bonus.rounds.selection = plain.rounds.selection.with("staleness_bonus", 1);
  std::vector<TrainedReport> reports(10);
  for (uint8_t i = 0; i < 10; ++i) reports[i] = {.loss_level = i, .version = 1, .counted = 1};
  const ReportOf known = [&](uint32_t device) { return &reports[device]; };
  const auto differ = [&](uint64_t round) {
    int count = 0;
    for (uint32_t attempt = 1; attempt <= 20; ++attempt) {
      count += draw_round(fleet_of(10), plain, round, attempt, known).counted !=
               draw_round(fleet_of(10), with_bonus, round, attempt, known).counted;
    }
    return count;
  };
  EXPECT_EQ(differ(2), 0);
  EXPECT_GT(differ(3), 0);
}

}  // namespace
}  // namespace coterie
