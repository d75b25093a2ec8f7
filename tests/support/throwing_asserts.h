// While one of these lives, COT_ASSERT throws coterie::AssertionFailure instead of aborting, so that a test can show
// that a precondition is guarded: EXPECT_THROW(f(bad), AssertionFailure).
#pragma once

#include "base/assert.h"

#ifdef COT_NO_UNWINDING  // nothing can be thrown through the libraries: it must abort
#include <gtest/gtest.h>

#undef EXPECT_THROW
#define EXPECT_THROW(statement, type) EXPECT_DEATH(static_cast<void>(statement), "assertion failed")

namespace coterie::test {

class ThrowingAsserts {
 public:
  ThrowingAsserts() {}
};

}  // namespace coterie::test
#else
namespace coterie::test {

class ThrowingAsserts {
 public:
  ThrowingAsserts() : previous_(set_assert_handler([](const AssertionFailure& failure) { throw failure; })) {}
  ~ThrowingAsserts() { set_assert_handler(previous_); }
  ThrowingAsserts(const ThrowingAsserts&) = delete;
  ThrowingAsserts& operator=(const ThrowingAsserts&) = delete;

 private:
  AssertHandler previous_;
};

}  // namespace coterie::test
#endif
