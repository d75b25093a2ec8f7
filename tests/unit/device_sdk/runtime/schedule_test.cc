#include "device_sdk/runtime/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/text/name_pattern.h"
#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

double factor(const char* text, uint64_t step, uint64_t steps = 100) {
  const Result<LearningRateSchedule> schedule = parse_schedule(text);
  EXPECT_OK(schedule);
  return learning_rate_factor(*schedule, step, steps, {});
}

TEST(Schedule, FollowsItsClosedForm) {
  EXPECT_EQ(factor("constant", 99), 1);
  EXPECT_EQ(factor("step:period=10,gamma=0.5", 9), 1);
  EXPECT_EQ(factor("step:period=10,gamma=0.5", 10), 0.5);
  EXPECT_EQ(factor("step:period=10,gamma=0.5", 35), 0.125);
  EXPECT_NEAR(factor("exponential:period=10,gamma=0.5", 5), std::sqrt(0.5), 1e-12);
  EXPECT_EQ(factor("cosine", 0), 1);
  EXPECT_NEAR(factor("cosine", 50), 0.5, 1e-12);
  EXPECT_NEAR(factor("cosine:min=0.1", 100), 0.1, 1e-7);
}

TEST(Schedule, WarmsUpLinearlyAndBeginsAfterwards) {
  EXPECT_EQ(factor("cosine:warmup=10", 0), 0.1);
  EXPECT_EQ(factor("cosine:warmup=10", 9), 1);
  EXPECT_EQ(factor("cosine:warmup=10", 10), 1);
  EXPECT_NEAR(factor("cosine:warmup=10", 55), 0.5, 1e-12);
  EXPECT_EQ(factor("step:warmup=4,period=10,gamma=0.5", 13), 1);
  EXPECT_EQ(factor("step:warmup=4,period=10,gamma=0.5", 14), 0.5);
}

// torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1, total_steps=100), PyTorch 1.13.
TEST(Schedule, OneCycleIsPyTorchs) {
  EXPECT_NEAR(factor("one_cycle", 0), 0.04, 1e-9);
  EXPECT_NEAR(factor("one_cycle", 10), 0.29516394846410077, 1e-12);
  EXPECT_NEAR(factor("one_cycle", 29), 1.0, 1e-9);
  EXPECT_NEAR(factor("one_cycle", 64), 0.500002, 1e-9);
  EXPECT_NEAR(factor("one_cycle", 99), 4e-6, 1e-9);
}

TEST(Schedule, PlateauFallsWhenTheLossStopsFalling) {
  const LearningRateSchedule schedule = *parse_schedule("plateau:patience=1,gamma=0.5");
  PlateauState state;
  for (const double loss : {2.0, 1.0}) observe_epoch(schedule, loss, state);
  EXPECT_EQ(learning_rate_factor(schedule, 0, 1, state), 1);
  observe_epoch(schedule, 1.0, state);  // no progress once: patience
  EXPECT_EQ(learning_rate_factor(schedule, 0, 1, state), 1);
  observe_epoch(schedule, 0.99999, state);  // less than 1e-4 of it is none
  EXPECT_EQ(learning_rate_factor(schedule, 0, 1, state), 0.5);
  observe_epoch(schedule, 0.5, state);
  EXPECT_EQ(learning_rate_factor(schedule, 0, 1, state), 0.5);
}

TEST(Schedule, RefusesWhatItDoesNotKnow) {
  EXPECT_ERROR(parse_schedule("cosin"), ErrorCode::invalid_argument, "must be constant, step, exponential, cosine");
  EXPECT_ERROR(parse_schedule("step:gama=1"), ErrorCode::invalid_argument, "not gama");
  EXPECT_ERROR(parse_schedule("step:gamma=x"), ErrorCode::invalid_argument, "gamma needs a number, has \"x\"");
  EXPECT_ERROR(parse_schedule("step:gamma=2"), ErrorCode::invalid_argument, "gamma must be in (0, 1]");
  EXPECT_ERROR(parse_schedule("step:gamma=nan"), ErrorCode::invalid_argument, "gamma must be in (0, 1]");
  EXPECT_ERROR(parse_schedule("step:period=0"), ErrorCode::invalid_argument, "at least 1 step");
  EXPECT_ERROR(parse_schedule("cosine:warmup=-1"), ErrorCode::invalid_argument, "warmup needs a number");
}

TEST(NamePattern, MatchesAsAShellDoes) {
  EXPECT_TRUE(name_matches("features.*", "features.0.weight"));
  EXPECT_FALSE(name_matches("features.*", "classifier.0.weight"));
  EXPECT_TRUE(name_matches("*.weight", "a.b.weight"));
  EXPECT_FALSE(name_matches("*.weight", "a.b.weights"));
  EXPECT_TRUE(name_matches("*", ""));
  EXPECT_TRUE(name_matches("", ""));
  EXPECT_FALSE(name_matches("", "a"));
  EXPECT_TRUE(name_matches("layer?.*bias", "layer3.0.bias"));
  EXPECT_FALSE(name_matches("layer?.*bias", "layer.0.bias"));
  EXPECT_TRUE(name_matches("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(name_matches("a*b*c", "aXcYb"));
}

}  // namespace
}  // namespace coterie::test
