// A device in rounds of a job with widths: which it trains, and what it sends of that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "device_sdk/agent/device_width.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/narrow_model.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

constexpr float kWhole = 8;  // value_abs_max of the scripted plan

class AgentWidths : public AgentTest {
 protected:
  void begin() {
    server_.plan.training.widths = widths_;
    UpdateRules& rules = server_.plan.update;
    rules.scalars.assign(widths_.size() - 1, {ScalarKind::width_holder, 1});
    rules.value_count = load_or_die(model_).value_count() + rules.scalars.size();
    server_.begin_round(model_);
    ASSERT_OK(open());
  }
  // What a device sends that trains this one: the narrow model's own difference where it has values, zeros else.
  std::vector<float> wanted(size_t width_class) {
    const Model whole = load_or_die(model_);
    const NarrowModel narrow = *narrow_model(whole, widths_[width_class]);
    const Bytes file(narrow.model.file().begin(), narrow.model.file().end());
    std::vector<float> values = widened(narrow.pieces, expected_delta(file), whole.value_count());
    for (size_t i = 0; i + 1 < widths_.size(); ++i) values.push_back(width_class <= i ? kWhole : 0);
    return values;
  }
  uint64_t training_bytes(size_t width_class) {
    const NarrowModel narrow = *narrow_model(load_or_die(model_), widths_[width_class]);
    return Trainer::plan(narrow.model, options_of(server_.plan.training, 0), 20)->bytes();
  }

  const std::vector<uint32_t> widths_ = {1'000'000, 500'000, 250'000};
};

TEST_F(AgentWidths, SendTheWholeModelUnlessTheAppSaysOtherwise) {
  begin();
  step_until(Activity::uploaded);
  EXPECT_EQ(server_.uploads().back().values, wanted(0));
}

TEST_F(AgentWidths, TrainNothingWiderThanTheAppAllows) {
  settings_.widths.width_max = 600'000;
  begin();
  step_until(Activity::uploaded);
  const std::vector<float>& sent = server_.uploads().back().values;
  EXPECT_EQ(sent, wanted(1));
  EXPECT_GT(std::ranges::count(sent, 0.0f), static_cast<std::ptrdiff_t>(sent.size() / 3)) << "zeros beside its part";
}

TEST_F(AgentWidths, TrainTheWidestThatFitsTheMemory) {
  begin();
  for (size_t width_class = 0; width_class < widths_.size(); ++width_class) {
    const uint64_t bytes = training_bytes(width_class);
    if (width_class > 0) EXPECT_LT(bytes, training_bytes(width_class - 1));
    settings_.widths.training_bytes_max = bytes;
    server_.begin_round(model_);
    ASSERT_OK(open());
    step_until(Activity::uploaded);
    EXPECT_EQ(server_.uploads().back().values, wanted(width_class)) << width_class;
  }
}

TEST_F(AgentWidths, SendNothingWhereEvenTheNarrowestIsTooMuch) {
  begin();
  settings_.widths.training_bytes_max = training_bytes(2) - 1;
  ASSERT_OK(open());
  const AgentProgress progress = train();
  ASSERT_TRUE(progress.error);
  EXPECT_THAT(progress.error->message(), testing::HasSubstr("the narrowest of the job's models takes"));
  EXPECT_TRUE(server_.uploads().empty());
  const Model whole = load_or_die(model_);
  const UpdateLayout layout = *UpdateLayout::of(whole, whole.value_count(), server_.plan);
  EXPECT_ERROR(widest_work(whole, layout, server_.plan.training, {.width_max = 100'000}, 20), ErrorCode::refused,
               "wider than the app allows");
}

// No state is kept for it: the width follows from the app's limits, the plan and the model.
TEST_F(AgentWidths, TrainTheSameThroughADeathBeforeEveryStep) {
  settings_.widths.width_max = 250'000;
  begin();
  for (int steps = 0; server_.uploads().empty() && steps < 400; ++steps) {
    ASSERT_OK(open());
    ASSERT_OK(agent_->step());
  }
  ASSERT_EQ(server_.uploads().size(), 1u);
  EXPECT_EQ(server_.uploads()[0].values, wanted(2));
}

}  // namespace
}  // namespace coterie::test
