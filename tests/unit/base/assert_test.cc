#include "base/assert.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/throwing_asserts.h"

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

TEST(Assert, HandsTheFailureToTheInstalledHandler) {
  const test::ThrowingAsserts guard;
  try {
    COT_ASSERT(2 < 1);
    FAIL() << "an assertion that does not hold went through";
  } catch (const AssertionFailure& failure) {
    EXPECT_STREQ(failure.expression, "2 < 1");
    EXPECT_NE(std::string(failure.file).find("assert_test.cc"), std::string::npos);
    EXPECT_GT(failure.line, 0);
  }
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
