// A day's budget: charged before it is spent, never exceeded, and none the richer for a clock that is set back.
#include "device_sdk/client/daily_budget.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

constexpr int64_t kDayMs = 86'400'000;

WallTime on_day(int64_t day, int64_t ms = 0) { return wall_time_from_unix_ms(day * kDayMs + ms); }

const DailyLimits kLimits{.work = {.cpu_us = 1'000, .upload_bytes = 200, .download_bytes = 300}};

std::string_view reason_of(const Status& status) { return status ? std::string_view() : status.error().reason(); }

struct BudgetOfADay : testing::Test {
  BudgetOfADay() { budget.see(on_day(20'000)); }
  DailyBudget budget{kLimits, {}};
};

TEST_F(BudgetOfADay, IsRefusedByEachLimitWithItsReasonAndThenChargesNothing) {
  EXPECT_EQ(reason_of(budget.reserve({.cpu_us = 1'001})), "cpu_budget");
  EXPECT_EQ(reason_of(budget.reserve({.cpu_us = 1, .upload_bytes = 201})), "upload_budget");
  EXPECT_EQ(reason_of(budget.reserve({.upload_bytes = 1, .download_bytes = 301})), "download_budget");
  EXPECT_EQ(budget.left(), kLimits.work);
  EXPECT_TRUE(budget.reserve(kLimits.work));
  EXPECT_EQ(budget.left(), WorkAmount{});
  EXPECT_EQ(reason_of(budget.reserve({.cpu_us = 1})), "cpu_budget");
  EXPECT_TRUE(budget.reserve({}));
}

TEST_F(BudgetOfADay, GivesBackWhatWasNotTakenAndChargesWhatWasTakenBeyond) {
  ASSERT_OK(budget.reserve({.cpu_us = 600, .upload_bytes = 100}));
  budget.settle({.cpu_us = 600, .upload_bytes = 100}, {.cpu_us = 250, .upload_bytes = 130});
  EXPECT_EQ(budget.left(), (WorkAmount{.cpu_us = 750, .upload_bytes = 70, .download_bytes = 300}));
}

TEST_F(BudgetOfADay, BeginsAnewWithTheNextDayOfUtcAndNotBefore) {
  ASSERT_OK(budget.reserve({.cpu_us = 1'000}));
  budget.settle({.cpu_us = 1'000}, {.cpu_us = 1'000});
  budget.see(on_day(20'000, kDayMs - 1));
  EXPECT_EQ(budget.left().cpu_us, 0u);
  budget.see(on_day(20'001));
  EXPECT_EQ(budget.left(), kLimits.work);
}

TEST_F(BudgetOfADay, CountsWhatIsUnderWayAtMidnightForBothDays) {
  ASSERT_OK(budget.reserve({.cpu_us = 900}));
  budget.see(on_day(20'001));
  EXPECT_EQ(budget.left().cpu_us, 100u);
  budget.settle({.cpu_us = 900}, {.cpu_us = 300});
  EXPECT_EQ(budget.left().cpu_us, 700u);
}

TEST_F(BudgetOfADay, HasNoSecondBudgetForAClockThatIsSetBack) {
  ASSERT_OK(budget.reserve({.cpu_us = 1'000}));
  budget.settle({.cpu_us = 1'000}, {.cpu_us = 1'000});
  for (const int64_t back : {1, 2, 10, 9'000}) {
    budget.see(on_day(20'000 - back));
    EXPECT_EQ(budget.left().cpu_us, 0u) << back;
  }
}

// Around midnight a clock that is corrected back and forth begins one day, once.
TEST_F(BudgetOfADay, BeginsADayOnceForAClockThatSwaysAroundMidnight) {
  budget.see(on_day(20'001));
  ASSERT_OK(budget.reserve({.cpu_us = 1'000}));
  budget.settle({.cpu_us = 1'000}, {.cpu_us = 1'000});
  for (int i = 0; i < 3; ++i) {
    budget.see(on_day(20'000, kDayMs - 1));
    budget.see(on_day(20'001));
    EXPECT_EQ(budget.left().cpu_us, 0u);
  }
}

// A device that once believed it was 2054 has a budget again tomorrow.
TEST_F(BudgetOfADay, GoesOnTomorrowAfterAClockThatRanAhead) {
  budget.see(on_day(31'000));
  ASSERT_OK(budget.reserve({.cpu_us = 1'000}));
  budget.settle({.cpu_us = 1'000}, {.cpu_us = 1'000});
  budget.see(on_day(20'000));
  EXPECT_EQ(budget.left().cpu_us, 0u);
  budget.see(on_day(20'001));
  EXPECT_EQ(budget.left().cpu_us, 1'000u);
}

TEST(DailyBudget, OfEnergyIsCpuTimeTimesPower) {
  // 2 J at 4 W: half a second.
  DailyBudget budget({.energy_mj = 2'000, .power_mw = 4'000}, {});
  budget.see(on_day(20'000));
  EXPECT_EQ(budget.left().cpu_us, 500'000u);
  ASSERT_OK(budget.reserve({.cpu_us = 400'000}));
  budget.settle({.cpu_us = 400'000}, {.cpu_us = 100'000});
  EXPECT_EQ(budget.left().cpu_us, 400'000u);
  EXPECT_EQ(budget.spent().energy_nj, 400'000'000u);
  EXPECT_EQ(reason_of(budget.reserve({.cpu_us = 400'001})), "energy_budget");
}

TEST(DailyBudget, WithoutLimitsRefusesNothing) {
  DailyBudget budget({}, {});
  budget.see(on_day(20'000));
  EXPECT_TRUE(budget.reserve({UINT64_MAX, UINT64_MAX, UINT64_MAX}));
  EXPECT_TRUE(budget.reserve({1, 1, 1})) << "what was spent is at its end, and does not begin anew";
  EXPECT_EQ(budget.left(), (WorkAmount{UINT64_MAX, UINT64_MAX, UINT64_MAX}));
}

TEST(DailyBudget, LimitsAreInRange) {
  EXPECT_OK(validate(DailyLimits{}));
  EXPECT_OK(validate(kLimits));
  EXPECT_ERROR(validate(DailyLimits{.work = {.cpu_us = kDailyLimitMax + 1}}), ErrorCode::invalid_argument, "CPU");
  EXPECT_ERROR(validate(DailyLimits{.work = {.upload_bytes = UINT64_MAX}}), ErrorCode::invalid_argument, "bytes up");
  EXPECT_ERROR(validate(DailyLimits{.work = {.download_bytes = UINT64_MAX}}), ErrorCode::invalid_argument,
               "bytes down");
  EXPECT_ERROR(validate(DailyLimits{.energy_mj = 5}), ErrorCode::invalid_argument, "watts");
  EXPECT_ERROR(validate(DailyLimits{.energy_mj = UINT64_MAX, .power_mw = 1}), ErrorCode::invalid_argument, "joules");
  EXPECT_ERROR(validate(DailyLimits{.power_mw = kPowerMwMax + 1}), ErrorCode::invalid_argument, "watts");
}

}  // namespace
}  // namespace coterie
