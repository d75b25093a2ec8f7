#include "device_sdk/watch/series.h"

#include <gtest/gtest.h>

#include <limits>

namespace coterie::test {
namespace {

TEST(LossWindows, MeansAreByExample) {
  LossWindows windows(2);
  EXPECT_FALSE(windows.add(30, 10));
  const auto first = windows.add(5, 5);  // 35 / 15
  ASSERT_TRUE(first);
  EXPECT_DOUBLE_EQ(first->loss, 35.0 / 15);
  EXPECT_DOUBLE_EQ(first->first, first->loss);
  EXPECT_FALSE(first->before);
  EXPECT_FALSE(windows.add(10, 10));
  const auto second = windows.add(10, 10);
  ASSERT_TRUE(second);
  EXPECT_DOUBLE_EQ(second->loss, 1);
  EXPECT_DOUBLE_EQ(*second->before, first->loss);
  EXPECT_DOUBLE_EQ(second->first, first->loss);
}

// A training of one epoch has no window before it: a loss that grows from step to step is told within it.
TEST(LossWindows, ALossThatRunsAwayInTheFirstWindowIsToldThere) {
  constexpr uint64_t kExamples = 4;
  LossWindows windows(57);
  for (int step = 1; step <= 57; ++step) {
    const double loss = step < 12 ? 2 : 2.0 * step;  // the first quarter of 32 has 2 throughout, the last from 50 on
    const auto window = windows.add(loss * kExamples, kExamples);
    ASSERT_EQ(window.has_value(), step == 32 || step == 57) << step;
    if (step != 32) continue;
    EXPECT_DOUBLE_EQ(*window->before, 2);
    EXPECT_DOUBLE_EQ(window->first, 2);
    EXPECT_DOUBLE_EQ(window->loss, 50);
  }
}

TEST(LossWindows, ARunawayLossIsToldWhereTheFirstWindowEnds) {
  LossWindows windows(32);
  for (int step = 1; step < 32; ++step) ASSERT_FALSE(windows.add(step < 9 ? 1 : 3, 1)) << step;
  const auto window = windows.add(3, 1);
  ASSERT_TRUE(window);
  EXPECT_DOUBLE_EQ(*window->before, 1);
  EXPECT_DOUBLE_EQ(window->loss, 3);
}

TEST(LossWindows, ARiseThatIsSmallOrHasEndedIsNone) {
  const auto told = [](const auto& loss_of) {
    LossWindows windows(1000);
    for (int step = 1; step <= 512; ++step) {
      if (windows.add(loss_of(step), 1)) return step;
    }
    return 0;
  };
  EXPECT_EQ(told([](int) { return 2.0; }), 0);
  EXPECT_EQ(told([](int step) { return step < 9 ? 1.0 : 2.0; }), 0) << "twice is not above twice";
  EXPECT_EQ(told([](int step) { return step == 64 ? 1.0 : step; }), 32);
  EXPECT_EQ(told([](int step) { return step < 200 ? 1.0 : 5.0; }), 512);
  EXPECT_EQ(told([](int step) { return step > 100 && step % 8 != 0 ? 100.0 : 1.0; }), 0) << "some lie low";
  EXPECT_EQ(told([](int step) { return -1.0 * step; }), 0) << "a loss below 0 has no such measure";
}

TEST(NormHistory, MedianAndMedianDeviationOfThoseBefore) {
  NormHistory history(5);
  EXPECT_EQ(history.add(1).norms, 0u);
  for (const double norm : {2.0, 3.0, 4.0, 100.0}) history.add(norm);
  const NormHistory::Usual usual = history.add(7);
  EXPECT_EQ(usual.norms, 5u);
  EXPECT_EQ(usual.median, 3);
  EXPECT_EQ(usual.deviation, 1) << "of 2, 1, 0, 1, 97";
  const NormHistory::Usual next = history.add(std::numeric_limits<double>::infinity());
  EXPECT_EQ(next.median, 4) << "7 took the place of 1";
  EXPECT_EQ(history.add(0).median, 4) << "what is not finite is not kept";
}

TEST(LabelCounts, DistanceOfAWindowToAllBefore) {
  LabelCounts counts(3, 4);
  EXPECT_FALSE(counts.add(std::vector<int32_t>{0, 0})) << "the window is half full";
  EXPECT_FALSE(counts.add(std::vector<int32_t>{1, 1})) << "the first has none before it";
  EXPECT_DOUBLE_EQ(*counts.add(std::vector<int32_t>{0, 1, 1, 0}), 0);
  EXPECT_DOUBLE_EQ(*counts.add(std::vector<int32_t>{2, 2, 2, 2, -1, 3}), 1) << "-1 and 3 are no classes";
  EXPECT_DOUBLE_EQ(*counts.add(std::vector<int32_t>{2, 2, 2, 2}), 2.0 / 3) << "a third of those before were 2";
}

}  // namespace
}  // namespace coterie::test
