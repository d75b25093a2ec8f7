#include "scheduler/round/round_policy.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

HorizontalSettings of_ten(SecurityLevel level) {
  HorizontalSettings settings;
  settings.rounds.goal_count = 10;
  settings.rounds.goal_count_min = 4;
  settings.rounds.over_selection = 1.2;
  settings.privacy.level = level;
  return settings;
}

const HorizontalSettings kOpen = of_ten(SecurityLevel::none);
const HorizontalSettings kMasked = of_ten(SecurityLevel::active);

bool may_choose(const HorizontalSettings& settings, uint64_t devices, uint32_t nodes, bool is_overdue) {
  return RoundPolicy(settings).may_choose({.devices = devices, .nodes = nodes, .is_overdue = is_overdue});
}

CollectedVerdict judge(const HorizontalSettings& settings, uint64_t accepted, bool is_late, bool is_counted) {
  return RoundPolicy(settings).judge({.accepted = accepted, .is_late = is_late, .is_counted = is_counted});
}

TEST(RoundPolicy, ChoosesFromAFullPool) {
  EXPECT_FALSE(may_choose(kOpen, 11, 1, false));
  EXPECT_TRUE(may_choose(kOpen, 12, 1, false));  // 10 x 1.2
}

HorizontalSettings buffered() {
  HorizontalSettings settings = kOpen;
  settings.rounds.policy = RoundPolicyKind::buffered;
  settings.rounds.concurrency = 50;
  return settings;
}

TEST(RoundPolicy, OfBuffersCollectsAtOnce) {
  EXPECT_FALSE(may_choose(buffered(), 0, 0, false)) << "nobody could send";
  EXPECT_FALSE(may_choose(buffered(), 0, 1, false)) << "nobody would be asked";
  EXPECT_TRUE(may_choose(buffered(), 1, 1, false));
}

TEST(RoundPolicy, OfBuffersClosesWithItsGoal) {
  EXPECT_EQ(judge(buffered(), 9, false, false), CollectedVerdict::wait);
  EXPECT_EQ(judge(buffered(), 10, false, false), CollectedVerdict::freeze);
  EXPECT_EQ(judge(buffered(), 5, true, true), CollectedVerdict::freeze);
}

// Its devices may all be slow, or none may be there: an attempt less would end the job for that.
TEST(RoundPolicy, OfBuffersWaitsForItsFirstUpdateHoweverLongThatTakes) {
  EXPECT_EQ(judge(buffered(), 0, false, false), CollectedVerdict::wait);
  EXPECT_EQ(judge(buffered(), 0, true, true), CollectedVerdict::let_more_in);
  EXPECT_EQ(RoundPolicy(buffered()).ticket_count({.extensions = 1'000}), 100u)
      << "50 again, as many as are to be at work";
  EXPECT_EQ(RoundPolicy(buffered()).ticket_count({.round_number = 2, .extensions = 1'000}), 62u);
}

TEST(RoundPolicy, OfBuffersAsksAtFirstForAllAndThenForThoseThatItCounts) {
  const HorizontalSettings settings = buffered();
  EXPECT_EQ(RoundPolicy(settings).ticket_count({}), 50u);
  EXPECT_EQ(RoundPolicy(settings).ticket_count({.extensions = 1}), 62u);
  EXPECT_EQ(RoundPolicy(settings).ticket_count({.attempt = 2}), 12u) << "the others are at work";
  EXPECT_EQ(RoundPolicy(settings).ticket_count({.round_number = 2}), 12u);
}

TEST(RoundPolicy, ChoosesFromAThinPoolOnceThatIsOverdueAndCouldSucceed) {
  EXPECT_FALSE(may_choose(kOpen, 4, 1, false));
  EXPECT_TRUE(may_choose(kOpen, 4, 1, true));
  EXPECT_FALSE(may_choose(kOpen, 3, 1, true));
}

TEST(RoundPolicy, WaitsForItsNodesHoweverManyDevicesWait) {
  HorizontalSettings settings = kOpen;
  settings.rounds.nodes_min = 2;
  EXPECT_FALSE(may_choose(settings, 1'000, 1, true));
  EXPECT_TRUE(may_choose(settings, 1'000, 2, false));
}

TEST(RoundPolicy, FreezesAtTheGoalWithoutMasks) {
  EXPECT_EQ(judge(kOpen, 9, false, false), CollectedVerdict::wait);
  EXPECT_EQ(judge(kOpen, 10, false, false), CollectedVerdict::freeze);
}

TEST(RoundPolicy, WaitsBeyondTheGoalWithMasks) {
  EXPECT_EQ(judge(kMasked, 12, false, false), CollectedVerdict::wait);
  EXPECT_EQ(judge(kMasked, 12, true, true), CollectedVerdict::freeze);
}

TEST(RoundPolicy, EndsAThinRoundByACountAfterTheDeadlineAlone) {
  EXPECT_EQ(judge(kOpen, 5, true, false), CollectedVerdict::wait);
  EXPECT_EQ(judge(kOpen, 5, false, true), CollectedVerdict::wait);
  EXPECT_EQ(judge(kOpen, 5, true, true), CollectedVerdict::freeze);
}

TEST(RoundPolicy, LetsMoreInRatherThanBreakAPromise) {
  EXPECT_EQ(judge(kOpen, 3, true, true), CollectedVerdict::let_more_in);
  EXPECT_EQ(judge(kOpen, 1, true, true), CollectedVerdict::let_more_in);
}

TEST(RoundPolicy, FailsAnAttemptThatPromisedNothing) {
  EXPECT_EQ(judge(kOpen, 0, true, true), CollectedVerdict::fail_attempt);
}

TEST(RoundPolicy, NeedsTheMinimumWhenNobodyCanCome) {
  EXPECT_EQ(RoundPolicy(kMasked).judge_last(4), CollectedVerdict::freeze);
  EXPECT_EQ(RoundPolicy(kMasked).judge_last(3), CollectedVerdict::fail_attempt);
}

TEST(RoundPolicy, NeedsSomebodyEvenWhereTheMinimumIsZero) {
  HorizontalSettings settings = kMasked;
  settings.rounds.goal_count_min = 0;
  EXPECT_EQ(RoundPolicy(settings).judge_last(0), CollectedVerdict::fail_attempt);
}

TEST(RoundPolicy, IssuesAsManyTicketsAgainForEachExtension) {
  EXPECT_EQ(RoundPolicy(kOpen).ticket_count({}), 12u);
  EXPECT_EQ(RoundPolicy(kOpen).ticket_count({.extensions = 2}), 36u);
}

}  // namespace
}  // namespace coterie
