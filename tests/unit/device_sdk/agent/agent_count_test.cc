// An agent that counts: in slices as it trains, stopped between any two examples, and the same again in another life.
#include <gtest/gtest.h>

#include <climits>

#include "base/os/clock.h"
#include "device_sdk/agent/count_examples.h"
#include "device_sdk/agent/training_seed.h"
#include "proto/messages/analytics_lanes.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

// Example i is the number i. Each read takes until the clock has gone on by `slowness`.
class Numbers final : public ExampleSource {
 public:
  uint64_t size() const override { return 40; }
  Status read(uint64_t index, const Example& to) override {
    ++reads;
    const Instant begin = os::monotonic_now();
    while (os::monotonic_now() - begin < slowness) continue;
    to.features()[0] = static_cast<float>(index);
    return {};
  }
  Millis slowness{0};
  uint64_t reads = 0;
};

class AgentCounts : public AgentTest {
 protected:
  AgentCounts() {
    settings_.policy.privacy.accepts_analytics = true;
    server_.plan.training = {};
    server_.plan.analytics = rules_;
    server_.plan.update.value_count = lane_count(rules_);
    server_.plan.update.clip_l2 = clip_of(rules_);
    server_.plan.update.fixed_point = FixedPointSpec::finest(8, 1, 1000);
    server_.begin_round(model_);
  }
  Status open() {
    agent_.reset();
    COT_ASSIGN(agent_, Agent::open(settings_, server_, numbers_));
    return {};
  }
  std::vector<float> expected() const {
    Numbers numbers;
    ExampleCounter counter(rules_, numbers.size(), repeated_seed(5, server_.assignment().model_version));
    while (!counter.finished()) EXPECT_OK(counter.step(numbers));
    return counter.lanes();
  }

  AnalyticsRules rules_ = {.input_values = 1, .edges = {5, 10, 20, 30}, .values_max = 8, .lane_max = 8};
  Numbers numbers_;
};

TEST_F(AgentCounts, AStepIsASliceAndNoTableIsFetched) {
  numbers_.slowness = settings_.train_slice = Millis(1);
  ASSERT_OK(open());
  step_until(Activity::fetched_plan);
  EXPECT_EQ(numbers_.reads, 0u);
  for (int i = 0; i < 1000 && agent_->state().phase == ParticipantPhase::training; ++i) {
    const uint64_t before = numbers_.reads;
    EXPECT_EQ(step().activity, Activity::trained);
    EXPECT_LE(numbers_.reads, before + 1);
  }
  EXPECT_EQ(numbers_.reads, 8u);
  step_until(Activity::uploaded);
  ASSERT_EQ(server_.uploads().size(), 1u);
  EXPECT_EQ(server_.uploads()[0].values, expected());
  EXPECT_EQ(server_.calls(Call::model), 0);
}

TEST_F(AgentCounts, StopsWhenItMayNotGoOnAndCountsTheSameInAnotherLife) {
  int asked = 0, asked_until_worse = 1'000;
  settings_.policy.required.charging = true;
  settings_.conditions = [&] {
    return DeviceConditions{.charging = ++asked < asked_until_worse ? ConditionAnswer::yes : ConditionAnswer::no};
  };
  ASSERT_OK(open());
  step_until(Activity::fetched_plan);
  asked_until_worse = asked + 5;  // at the begin, and before each example
  EXPECT_EQ(step().activity, Activity::trained);
  EXPECT_EQ(numbers_.reads, 3u);
  EXPECT_EQ(agent_->state().phase, ParticipantPhase::training);
  const AgentProgress held = step();
  EXPECT_EQ(held.activity, Activity::held);
  EXPECT_EQ(numbers_.reads, 3u);
  ASSERT_OK(open());  // as if it was killed
  asked_until_worse = INT_MAX;
  step_until(Activity::uploaded);
  EXPECT_EQ(numbers_.reads, 3u + 8u);
  ASSERT_EQ(server_.uploads().size(), 1u);
  EXPECT_EQ(server_.uploads()[0].values, expected());
}

}  // namespace
}  // namespace coterie::test
