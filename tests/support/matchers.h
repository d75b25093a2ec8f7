// Assertions on Result and Status that print the error when they fail.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "base/result.h"

namespace coterie::test {

template <typename T>
::testing::AssertionResult is_ok(const Result<T>& result) {
  if (result) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << result.error().name() << ": " << result.error().message();
}

// An error of this code whose sentence contains `words`.
template <typename T>
::testing::AssertionResult fails_with(const Result<T>& result, ErrorCode code, std::string_view words) {
  if (result) return ::testing::AssertionFailure() << "succeeded, expected " << traits(code).name;
  const Error& error = result.error();
  if (error.code() == code && error.message().find(words) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "got " << error.name() << ": \"" << error.message() << "\", expected "
                                       << traits(code).name << " with \"" << words << "\"";
}

}  // namespace coterie::test

#define EXPECT_OK(expression) EXPECT_TRUE(::coterie::test::is_ok(expression))
#define ASSERT_OK(expression) ASSERT_TRUE(::coterie::test::is_ok(expression))
#define EXPECT_ERROR(expression, code, words) EXPECT_TRUE(::coterie::test::fails_with(expression, code, words))
#define ASSERT_ERROR(expression, code, words) ASSERT_TRUE(::coterie::test::fails_with(expression, code, words))
