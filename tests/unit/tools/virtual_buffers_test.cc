#include "tools/simulate/virtual_buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace coterie {
namespace {

using Counted = std::vector<std::pair<uint32_t, uint64_t>>;  // device, version

// The devices need 1, 2 and 5 seconds.
VirtualFleet three() {
  VirtualFleet fleet;
  fleet.devices = 3;
  fleet.examples_of = [](uint32_t device) { return device == 2 ? uint64_t{5000} : 1000 * (uint64_t{device} + 1); };
  return fleet;
}

VirtualFleet alike(uint32_t devices, double speed_spread = 0, double dropout = 0) {
  VirtualFleet fleet;
  fleet.devices = devices;
  fleet.speed_spread = speed_spread;
  fleet.dropout = dropout;
  fleet.examples_of = [](uint32_t) { return uint64_t{1000}; };
  return fleet;
}

HorizontalSettings buffers_of(uint32_t goal, uint32_t concurrency) {
  HorizontalSettings job;
  job.training.local_epochs = 1;
  job.privacy.level = SecurityLevel::none;
  job.rounds.policy = RoundPolicyKind::buffered;
  job.rounds.goal_count = goal;
  job.rounds.goal_count_min = 1;
  job.rounds.concurrency = concurrency;
  return job;
}

Counted counted_of(const VirtualRound& round) {
  Counted counted;
  for (size_t i = 0; i < round.counted.size(); ++i) counted.emplace_back(round.counted[i], round.versions[i]);
  return counted;
}

TEST(VirtualBuffers, CountWhoeverComesWithTheVersionThatItHad) {
  VirtualBuffers buffers(three(), buffers_of(1, 3));
  Counted counted;
  std::vector<uint64_t> drawn;
  for (int i = 0; i < 8; ++i) {
    const VirtualRound round = buffers.next();
    drawn.push_back(round.drawn);
    for (const auto& each : counted_of(round)) counted.push_back(each);
  }
  // At 1 s, 2 s (two), 3 s, 4 s (two), 5 s (two): of two at a time the lower number is first.
  EXPECT_EQ(counted, (Counted{{0, 0}, {0, 1}, {1, 0}, {0, 2}, {0, 4}, {1, 3}, {0, 5}, {2, 0}}));
  EXPECT_EQ(drawn, (std::vector<uint64_t>{3, 1, 1, 1, 1, 1, 1, 1}));
  const BufferedTotals totals = buffers.totals();
  EXPECT_EQ(totals.counted, 8u);
  EXPECT_EQ(totals.joined, 5u);
  EXPECT_EQ(totals.versions_late, 0u + 0 + 2 + 1 + 0 + 2 + 1 + 7);
  EXPECT_EQ(totals.staleness_max, 7u);
  EXPECT_EQ(totals.at_work, 2u);
  EXPECT_EQ(buffers.versions_at_work(), (std::vector<uint64_t>{6, 7}));
}

TEST(VirtualBuffers, LeaveOutWhatIsTooLateAndAskForNewWorkInItsPlace) {
  HorizontalSettings job = buffers_of(1, 3);
  job.rounds.staleness_max = 6;
  VirtualBuffers buffers(three(), job);
  VirtualRound last;
  for (int i = 0; i < 8; ++i) {
    if (i == 7) EXPECT_EQ(buffers.versions_at_work(), (std::vector<uint64_t>{6})) << "nobody waits for version 0";
    last = buffers.next();
  }
  EXPECT_EQ(last.too_late, 1u);
  EXPECT_EQ(last.wasted(), 1u);
  EXPECT_EQ(counted_of(last), (Counted{{0, 7}}));
  EXPECT_EQ(buffers.totals().too_late, 1u);
}

// What becomes of each training is one thing, and known.
TEST(VirtualBuffers, HaveEachTrainingOnceAndLoseNone) {
  const std::vector<std::tuple<uint32_t, uint32_t, double, double, uint32_t>> jobs = {
      {4, 16, 1.0, 0.0, 200}, {10, 60, 1.3, 0.1, 80}, {3, 9, 1.0, 0.05, 9}, {5, 0, 1.0, 0.0, 5}};
  for (const auto& [goal, concurrency, over, dropout, devices] : jobs) {
    HorizontalSettings job = buffers_of(goal, concurrency);
    job.rounds.over_selection = over;
    job.rounds.staleness_max = 8;
    const VirtualFleet fleet = alike(devices, 1.0, dropout);
    VirtualBuffers buffers(fleet, job), again(fleet, job);
    std::map<uint32_t, int64_t> last_version;
    uint64_t drawn = 0, counted = 0, lost = 0, too_late = 0;
    for (uint64_t number = 1; number <= 200; ++number) {
      const VirtualRound round = buffers.next();
      ASSERT_FALSE(round.is_failed);
      EXPECT_EQ(again.next().counted, round.counted) << "it follows from the seed";
      EXPECT_LE(round.counted.size(), goal);
      EXPECT_GE(round.seconds, 0);
      for (const auto& [device, version] : counted_of(round)) {
        const auto before = last_version.try_emplace(device, -1).first;
        EXPECT_GT(static_cast<int64_t>(version), before->second) << "device " << device << " counts a training twice";
        before->second = static_cast<int64_t>(version);
        EXPECT_LE(number - 1 - version, job.rounds.staleness_max);
      }
      drawn += round.drawn;
      counted += round.counted.size();
      lost += round.lost;
      too_late += round.too_late;
      EXPECT_EQ(round.late + round.surplus, 0u);
    }
    const BufferedTotals totals = buffers.totals();
    EXPECT_EQ(totals.counted, counted);
    EXPECT_EQ(totals.too_late, too_late);
    // A lost device that is not back yet is counted as lost, not as at work.
    EXPECT_EQ(drawn, counted + lost + too_late + totals.at_work);
  }
}

// When a buffer closes, all at work but those that it counts become one version later: (C - K) / K on average.
TEST(VirtualBuffers, AreAsLateAsTheirConcurrencyMakesThem) {
  for (const uint32_t concurrency : {10u, 20u, 50u}) {
    HorizontalSettings job = buffers_of(10, concurrency);
    job.rounds.staleness_max = 1000;
    VirtualBuffers buffers(alike(100, 1.0), job);
    for (int i = 0; i < 400; ++i) buffers.next();
    EXPECT_NEAR(buffers.totals().staleness_mean(), (concurrency - 10) / 10.0, 0.1) << concurrency;
    EXPECT_EQ(buffers.totals().too_late, 0u);
  }
}

TEST(VirtualBuffers, CloseThinAtTheirDeadlineAndWaitBeyondItForTheFewest) {
  HorizontalSettings job = buffers_of(4, 4);
  job.rounds.collecting_max = Millis(3'000);
  VirtualFleet fleet = alike(4);
  fleet.trace = DropTrace::parse("1,1\n2,1\n", 4).value();
  VirtualBuffers thin(fleet, job);
  const VirtualRound first = thin.next();
  EXPECT_EQ(first.counted.size(), 2u);
  EXPECT_EQ(first.lost, 2u);
  EXPECT_DOUBLE_EQ(first.seconds, 3);
  EXPECT_EQ(thin.next().counted.size(), 4u) << "the lost ones are back";

  job.rounds.goal_count_min = 3;
  fleet = alike(8);
  fleet.trace = DropTrace::parse("1,1\n2,1\n3,1\n4,1\n5,1\n", 8).value();
  VirtualBuffers asking(fleet, job);
  const VirtualRound more = asking.next();
  EXPECT_EQ(more.drawn, 8u) << "the deadline has moved, and others were asked";
  EXPECT_EQ(more.counted, (std::vector<uint32_t>{5, 6, 7}));
  EXPECT_FALSE(more.is_failed);
}

TEST(VirtualBuffers, FailWhereNobodyIsLeft) {
  HorizontalSettings job = buffers_of(3, 3);
  job.rounds.goal_count_min = 3;
  VirtualFleet fleet = alike(3);
  fleet.trace = DropTrace::parse("1,1\n", 3).value();
  const VirtualRound round = VirtualBuffers(fleet, job).next();
  EXPECT_TRUE(round.is_failed);
  EXPECT_EQ(round.late, 2u);
  EXPECT_THAT(round.counted, testing::IsEmpty());
}

TEST(VirtualBuffers, WaitForTheSlowestHoweverSlow) {
  HorizontalSettings job = buffers_of(2, 2);
  job.rounds.goal_count_min = 2;
  job.rounds.collecting_max = Millis(1'000);
  VirtualBuffers buffers(alike(2, 10.0), job);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(buffers.next().counted.size(), 2u);
}

TEST(VirtualBuffers, AskADeviceAgainAsLateAsTheJobSays) {
  HorizontalSettings job = buffers_of(2, 2);
  job.rounds.separation_min = 3;
  VirtualBuffers buffers(alike(6), job);
  std::vector<std::set<uint32_t>> rounds;
  for (int i = 0; i < 12; ++i) {
    const VirtualRound round = buffers.next();
    rounds.emplace_back(round.counted.begin(), round.counted.end());
    if (i < 3) continue;
    EXPECT_EQ(rounds[i], rounds[i - 3]) << "of six, two are left to ask";
    EXPECT_NE(rounds[i], rounds[i - 1]);
  }
}

TEST(VirtualBuffers, BehindMasksAreRosters) {
  HorizontalSettings job = buffers_of(9, 20);
  job.privacy.level = SecurityLevel::masked;
  job.privacy.dropout_share = 0.1;
  job.rounds.over_selection = 2;
  EXPECT_EQ(VirtualBuffers(alike(30), job).next().counted.size(), 10u);
}

}  // namespace
}  // namespace coterie
