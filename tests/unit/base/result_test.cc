#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/matchers.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

using test::ThrowingAsserts;
using Box = std::unique_ptr<int>;

Error no_box() { return Error(ErrorCode::not_found, "no box"); }

Result<Box> make_box(int value) {
  if (value < 0) return no_box();
  return std::make_unique<int>(value);
}

Result<int> add_boxes(int a, int b, std::vector<std::string>& trace) {
  trace.push_back("a");
  COT_ASSIGN(const Box first, make_box(a));
  trace.push_back("b");
  COT_ASSIGN(Box second, make_box(b));
  trace.push_back("sum");
  return *first + *second;
}

Status check_even(int value) {
  if (value % 2 != 0) return Error(ErrorCode::invalid_argument, std::to_string(value) + " is odd");
  return {};
}

Status check_all(const std::vector<int>& values, int& checked) {
  for (int value : values) {
    COT_TRY(check_even(value));
    ++checked;
  }
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 7;
  EXPECT_TRUE(good.has_value());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(good.value(), 7);
  EXPECT_EQ(*good, 7);

  const Result<int> bad = no_box();
  EXPECT_FALSE(bad.has_value());
  EXPECT_FALSE(static_cast<bool>(bad));
  EXPECT_EQ(bad.error(), no_box());
}

TEST(Result, ConvertsWhatConvertsToItsValue) {
  const Result<std::string> text = "abc";
  EXPECT_EQ(*text, "abc");
  EXPECT_EQ(text->size(), 3u);
  const Result<std::vector<int>> list = std::vector<int>{1, 2};
  EXPECT_EQ(list->at(1), 2);
}

TEST(Result, CarriesAMoveOnlyValueInAndOut) {
  Result<Box> box = make_box(5);
  ASSERT_OK(box);
  EXPECT_EQ(**box, 5);
  const Box taken = *std::move(box);
  EXPECT_EQ(*taken, 5);
  const Box also = make_box(6).value();
  EXPECT_EQ(*also, 6);
}

TEST(Result, LetsItsValueBeChangedInPlace) {
  Result<std::vector<int>> list = std::vector<int>{1};
  list->push_back(2);
  list.value().push_back(3);
  EXPECT_EQ(*list, (std::vector<int>{1, 2, 3}));
}

TEST(Result, ValueOrGivesTheFallbackOnlyForAnError) {
  EXPECT_EQ(Result<int>(3).value_or(9), 3);
  EXPECT_EQ(Result<int>(no_box()).value_or(9), 9);
}

TEST(Result, AskingForWhatIsNotThereIsADefectNotUndefined) {
  const ThrowingAsserts guard;
  Result<int> bad = no_box();
  Result<int> good = 1;
  Status done;
  EXPECT_THROW(bad.value(), AssertionFailure);
  EXPECT_THROW(*bad, AssertionFailure);
  EXPECT_THROW((void)std::move(bad).value(), AssertionFailure);
  EXPECT_THROW((void)good.error(), AssertionFailure);
  EXPECT_THROW((void)std::move(good).error(), AssertionFailure);
  EXPECT_THROW((void)done.error(), AssertionFailure);
}

TEST(Status, IsSuccessUntilAnErrorIsPutIn) {
  const Status done;
  EXPECT_TRUE(done.has_value());
  const Status failed = no_box();
  EXPECT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::not_found);
}

TEST(Assign, DefinesTheVariableAndGoesOn) {
  std::vector<std::string> trace;
  const Result<int> sum = add_boxes(2, 3, trace);
  ASSERT_OK(sum);
  EXPECT_EQ(*sum, 5);
  EXPECT_EQ(trace, (std::vector<std::string>{"a", "b", "sum"}));
}

TEST(Assign, ReturnsTheFirstErrorAndEvaluatesNothingAfterIt) {
  std::vector<std::string> trace;
  EXPECT_ERROR(add_boxes(2, -1, trace), ErrorCode::not_found, "no box");
  EXPECT_EQ(trace, (std::vector<std::string>{"a", "b"}));
  trace.clear();
  EXPECT_ERROR(add_boxes(-1, -1, trace), ErrorCode::not_found, "no box");
  EXPECT_EQ(trace, (std::vector<std::string>{"a"}));
}

TEST(Assign, CanFillAnExistingVariable) {
  const auto fill = [](Box& into) -> Status {
    COT_ASSIGN(into, make_box(8));
    return {};
  };
  Box box;
  EXPECT_OK(fill(box));
  EXPECT_EQ(*box, 8);
}

TEST(Try, StopsAtTheFirstErrorAndPassesItOnUnchanged) {
  int checked = 0;
  EXPECT_ERROR(check_all({2, 4, 5, 6}, checked), ErrorCode::invalid_argument, "5 is odd");
  EXPECT_EQ(checked, 2);
  checked = 0;
  EXPECT_OK(check_all({2, 4}, checked));
  EXPECT_EQ(checked, 2);
}

TEST(Try, EvaluatesItsExpressionOnce) {
  int calls = 0;
  const auto once = [&]() -> Status {
    COT_TRY((++calls, Status()));
    return {};
  };
  EXPECT_OK(once());
  EXPECT_EQ(calls, 1);
}

TEST(Try, TakesAResultWhoseValueIsNotWanted) {
  const auto try_box = [](int value) -> Status {
    COT_TRY(make_box(value));
    return {};
  };
  EXPECT_OK(try_box(1));
  EXPECT_ERROR(try_box(-1), ErrorCode::not_found, "no box");
}

static_assert(!std::is_convertible_v<Result<int>, bool>, "a Result is tested on purpose, never by accident");
static_assert(!std::is_copy_constructible_v<Result<Box>> && std::is_move_constructible_v<Result<Box>>);

}  // namespace
}  // namespace coterie
