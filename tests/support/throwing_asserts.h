// While one of these lives, COT_ASSERT throws coterie::AssertionFailure instead of aborting, so that a test can show
// that a precondition is guarded: EXPECT_THROW(f(bad), AssertionFailure).
#pragma once

#include "base/assert.h"

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
