#include "fl_server/core/flush_budget.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

constexpr Millis kCost{5}, kWaitMax{2'000};

Instant at(int64_t ms) { return Instant(Millis(ms)); }

// Flushes at `ms`; it takes `cost`.
void flush(FlushBudget& budget, int64_t ms, Millis cost = kCost) {
  const Millis charged = budget.began(at(ms));
  budget.ended(charged, cost, at(ms) + cost);
}

TEST(FlushBudget, LetsTheFirstBatchBeFlushedAtOnce) { EXPECT_LE(FlushBudget(kCost, kWaitMax).due(), at(0)); }

TEST(FlushBudget, LetsTwoFollowEachOtherAfterAnIdleTimeAndNoThird) {
  FlushBudget budget(kCost, kWaitMax);
  flush(budget, 1'000);
  EXPECT_LE(budget.due(), at(1'005)) << "the credit of one flush was spent";
  flush(budget, 1'005);
  EXPECT_EQ(budget.due(), at(1'045)) << "overdrawn: 5 of 45 ms were spent on the second";
}

TEST(FlushBudget, SpendsANinthOfTheTimeUnderLoad) {
  FlushBudget budget(kCost, kWaitMax);
  int64_t now = 1'000;
  int flushes = 0;
  while (now < 1'000 + 9'000) {
    now = std::max(now, budget.due().time_since_epoch().count());
    flush(budget, now);
    now += kCost.count();
    ++flushes;
  }
  EXPECT_NEAR(flushes, 9'000 / 45, 2);
}

TEST(FlushBudget, KeepsNoMoreCreditThanForOneFlushHoweverLongItIsIdle) {
  FlushBudget budget(kCost, kWaitMax);
  flush(budget, 1'000);
  flush(budget, 1'000'000);
  EXPECT_EQ(budget.due(), at(1'000'000));
}

TEST(FlushBudget, ChargesWhatAFlushTurnsOutToCost) {
  FlushBudget budget(kCost, kWaitMax);
  flush(budget, 1'000, Millis(50));
  EXPECT_EQ(budget.due(), at(1'000 + 9 * 45)) << "five were expected, for which there was credit";
  EXPECT_EQ(budget.cost(), Millis(50));
  flush(budget, 2'000, Millis(1));
  EXPECT_LE(budget.due(), at(2'000)) << "given back";
}

TEST(FlushBudget, CountsFlushesThatHaveNotEndedYet) {
  FlushBudget budget(kCost, kWaitMax);
  budget.began(at(1'000));
  budget.began(at(1'000));
  EXPECT_EQ(budget.due(), at(1'045));
}

TEST(FlushBudget, ForgivesWhatAnOutageCost) {
  FlushBudget budget(kCost, kWaitMax);
  flush(budget, 1'000, Millis(600'000));
  EXPECT_EQ(budget.due(), at(601'000) + kWaitMax);
}

}  // namespace
}  // namespace coterie
