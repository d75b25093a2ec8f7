#include "device_sdk/runtime/flush_denormals.h"

#include <gtest/gtest.h>

#include <limits>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

// At run time, so that the compiler does not fold it.
float half_of_the_smallest_normal() {
  volatile float smallest = std::numeric_limits<float>::min();
  return smallest * 0.5f;
}

TEST(FlushDenormals, HoldsWhileItLivesAndNoLonger) {
  EXPECT_GT(half_of_the_smallest_normal(), 0);
  {
    const FlushDenormals flush;
    EXPECT_EQ(half_of_the_smallest_normal(), 0);
  }
  EXPECT_GT(half_of_the_smallest_normal(), 0);
}

TEST(FlushDenormals, LeavesTheCallerOfAStepItsOwnMode) {
  Examples examples(4, 64, 10);
  Result<Trainer> trainer = Trainer::create(small_cnn(), {.batch_size = 4, .optimizer = {}}, examples, 1);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  EXPECT_GT(half_of_the_smallest_normal(), 0);
}

}  // namespace
}  // namespace coterie::test
