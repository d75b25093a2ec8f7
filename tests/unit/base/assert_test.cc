#include "base/assert.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

namespace coterie {
namespace {

TEST(AssertDeathTest, PrintsWhereAndWhatThenAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(COT_ASSERT(1 + 1 == 3), "assert_test.cc:[0-9]+: assertion failed: 1 \\+ 1 == 3");
}

TEST(AssertDeathTest, AHandlerThatReturnsStillEndsInAbort) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        set_assert_handler([](const AssertionFailure&) {});
        COT_ASSERT(false);
      },
      "");
}

TEST(AssertDeathTest, HandsTheFailureToTheInstalledHandler) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        set_assert_handler([](const AssertionFailure& failure) {
          std::fprintf(stderr, "handed over: %s, %s:%d\n", failure.expression, failure.file, failure.line);
          std::abort();
        });
        COT_ASSERT(2 < 1);
      },
      "handed over: 2 < 1, .*assert_test.cc:[0-9]+");
}

TEST(AssertDeathTest, NamesTheSentenceOfAnInvariant) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(COT_INVARIANT(1 + 1 == 3, "a sum is what its parts are"),
               "assert_test.cc:[0-9]+: assertion failed: a sum is what its parts are");
}

TEST(AssertDeathTest, SaysWhatWasMissingInAMapAndWhoLookedForIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::map<int, int> map{{1, 2}};
  EXPECT_DEATH(must_find(map, 2, "every device has a place"),
               "assert_test.cc:[0-9]+: assertion failed: every device has a place");
}

TEST(Assert, FindsWhatIsThereAndLetsItBeChanged) {
  std::map<int, int> map{{1, 2}};
  ++must_find(map, 1, "one is there");
  EXPECT_EQ(map[1], 3);
}

TEST(StepCheck, ChecksASmallMachineAtEachStepAndALargeOneAtSome) {
  StepCheck check;
  int checks = 0;
  for (int i = 0; i < 100; ++i) checks += check.is_due(StepCheck::kEachStepMax) ? 1 : 0;
  EXPECT_EQ(checks, kChecksSteps ? 100 : 0);
  checks = 0;
  for (int i = 0; i < 100; ++i) checks += check.is_due(10 * StepCheck::kEachStepMax) ? 1 : 0;
  EXPECT_EQ(checks, kChecksSteps ? 10 : 0);
}

TEST(Assert, EvaluatesItsExpressionOnce) {
  int calls = 0;
  COT_ASSERT(++calls == 1);
  EXPECT_EQ(calls, 1);
}

TEST(Assert, GivesBackThePreviousHandler) {
  const AssertHandler mine = [](const AssertionFailure&) {};
  const AssertHandler first = set_assert_handler(mine);
  EXPECT_EQ(set_assert_handler(first), mine);
}

}  // namespace
}  // namespace coterie
