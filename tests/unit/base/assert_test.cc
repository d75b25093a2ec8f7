#include "base/assert.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

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
