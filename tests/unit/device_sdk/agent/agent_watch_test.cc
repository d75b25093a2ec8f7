// A device in rounds of a watched job: what it trains is what it would without, and what it found is behind that.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "device_sdk/agent/plan_watch.h"
#include "proto/messages/watch_noise.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

constexpr float kWhole = 8;  // value_abs_max of the scripted plan

class AgentWatch : public AgentTest {
 protected:
  void begin(std::vector<std::string> checks, uint32_t every, float learning_rate, float bound = 1) {
    TrainingSettings& training = server_.plan.training;
    training.local_epochs = 2;
    training.optimizer.learning_rate = learning_rate;
    training.watch = WatchSettings{.checks = std::move(checks), .every = every};
    UpdateRules& rules = server_.plan.update;
    rules.scalars = watch_scalars(*training.watch);
    for (ScalarRule& lane : rules.scalars) lane.bound = bound;
    rules.value_count = load_or_die(file_).value_count() + rules.scalars.size();
    server_.begin_round(file_);
    ASSERT_OK(open());
  }
  // What the upload has behind the model's values.
  std::vector<float> lanes() {
    const std::vector<float>& sent = server_.uploads().back().values;
    const size_t count = watch_lane_count(*server_.plan.training.watch);
    EXPECT_EQ(sent.size(), load_or_die(file_).value_count() + count);
    return {sent.end() - static_cast<std::ptrdiff_t>(count), sent.end()};
  }

  const Bytes file_ = mlp(1);
};

TEST_F(AgentWatch, TellsWhatItFoundBesideTheUpdateThatItWouldSendWithout) {
  begin({"weight_change_too_large", "dead_relu"}, 1, 0.5f);
  step_until(Activity::uploaded);
  const std::vector<float> told = lanes();
  EXPECT_EQ(told[0], kWhole) << "it has looked";
  for (const float lane : told) EXPECT_TRUE(lane == 0 || lane == kWhole) << lane;
  const auto changes = std::span(told).subspan(1, kWatchGroups), dead = std::span(told).subspan(1 + kWatchGroups);
  EXPECT_TRUE(std::ranges::count(changes, kWhole) > 0) << "such a rate moves weights by more than themselves";
  EXPECT_EQ(std::ranges::count(changes.subspan(2), kWhole), 0) << "the model has two layers";
  EXPECT_EQ(std::ranges::count(dead, kWhole), 0);
  std::vector<float> values = server_.uploads().back().values;
  values.resize(values.size() - told.size());
  server_.plan.training.watch.reset();
  EXPECT_EQ(values, expected_delta(file_)) << "to the bit";
}

// As much of it whatever was found: what noise has to hide has one norm.
TEST_F(AgentWatch, TellsOneOfTwoValuesWhereNoiseCoversThem) {
  begin({"weight_change_too_large", "dead_relu"}, 1, 0.5f, 40);
  step_until(Activity::uploaded);
  const std::vector<float> told = lanes();
  const float height = watch_height(server_.plan.update);
  EXPECT_NEAR(height, kWhole / 40, 1e-6);
  for (const float lane : told) EXPECT_TRUE(lane == height || lane == -height) << lane;
  EXPECT_EQ(told[0], height) << "it has looked";
  const auto changes = std::span(told).subspan(1, kWatchGroups), dead = std::span(told).subspan(1 + kWatchGroups);
  EXPECT_TRUE(std::ranges::count(changes, height) > 0) << "such a rate moves weights by more than themselves";
  EXPECT_EQ(std::ranges::count(changes.subspan(2), height), 0) << "the model has two layers";
  EXPECT_EQ(std::ranges::count(dead, height), 0);
}

TEST_F(AgentWatch, SaysThatItHasNotLookedWhereTheScheduleDoesNotComeToIt) {
  begin({"weight_overflow"}, 1'000'000, 0.1f);
  step_until(Activity::uploaded);
  EXPECT_EQ(lanes(), std::vector<float>(1 + kWatchGroups));
}

TEST_F(AgentWatch, UploadsThroughADeathBeforeEveryStep) {
  begin({"weight_change_too_large"}, 1, 0.5f);
  for (int steps = 0; server_.uploads().empty() && steps < 400; ++steps) {
    ASSERT_OK(open());
    ASSERT_OK(agent_->step());
  }
  ASSERT_EQ(server_.uploads().size(), 1u);
  for (const float lane : lanes()) EXPECT_TRUE(lane == 0 || lane == kWhole) << lane;
}

// A server knows the names alone, a device what they mean: both lists are one.
TEST(PlanWatch, HasARowForEachCheckThatAJobMayName) {
  std::set<std::string_view> recommended;
  const WatchPlan plan = recommended_watch();
  for (const WatchedCheck& check : plan.checks) recommended.insert(check.check->name);
  for (const JobCheck& check : job_checks()) {
    const Check* const row = find_check(check.name);
    ASSERT_NE(row, nullptr) << check.name;
    EXPECT_EQ(is_of_tensors(row->subject), check.is_of_layers) << check.name;
    EXPECT_EQ(recommended.contains(check.name), check.is_recommended) << check.name;
    EXPECT_FALSE(watch_plan_of({.checks = {std::string(check.name)}, .every = 5}, 1).checks.empty());
  }
  EXPECT_EQ(recommended.size(), static_cast<size_t>(std::ranges::count(job_checks(), true, &JobCheck::is_recommended)));
}

TEST(PlanWatch, LooksAtEachStepOnSomeDevice) {
  std::set<uint32_t> first;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const WatchPlan plan = watch_plan_of({.checks = {"weight_overflow"}, .every = 5}, seed);
    EXPECT_EQ(plan.every, 5u);
    first.insert(plan.first);
  }
  EXPECT_EQ(first, (std::set<uint32_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace coterie::test
