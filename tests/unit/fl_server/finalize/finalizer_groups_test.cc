// Rounds of AFL through the finalizer: groups' weights are the strategy's state, and go on from where they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/messages/group_weights.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::some_values;
using test::TestUpdate;

constexpr size_t kValues = 100;
constexpr float kLossMax = 4;

StrategySettings afl() {
  return StrategySettings::of("afl").with("loss_max", kLossMax).with("group_learning_rate", 0.1f);
}

// As a device of this group sends it that was handed `state`.
TestUpdate update_of(const FrozenRound& round, uint32_t group, const std::vector<float>& state, std::vector<float> step,
                     uint32_t weight, float loss) {
  const double factor = group_factors(state, 2)[group];
  for (float& value : step) value = static_cast<float>(static_cast<double>(value) * factor);
  std::vector<float> told(4);
  const float whole = round.job_.spec.horizontal().update.value_abs_max;
  told[group] = whole;
  told[2 + group] = loss / kLossMax * whole;
  step.insert(step.end(), told.begin(), told.end());
  return {step, weight};
}

std::vector<float> state_of(FrozenRound& round) {
  if (!round.base_.optimizer_state) return {};
  const Bytes file = round.blobs_.bytes_of(*round.base_.optimizer_state);
  const auto stored = decode_optimizer_state(file);
  EXPECT_OK(stored);
  EXPECT_EQ(stored->header.value_count, 4u) << "two numbers a group, whatever the model has";
  return test::values_of<float>(stored->payload);
}

// In double, from the formula: each group by lambda over its share so far, each device by its weight.
TEST(GroupRounds, MoveTheModelByTheGroupsWeightsAndGoOnFromThem) {
  const std::vector<float> start = some_values(1, kValues, 1);
  FrozenRound round(afl(), start);
  std::vector<double> lambda = {0.5, 0.5}, share = {0.5, 0.5}, weights(start.begin(), start.end());
  for (uint64_t number = 1; number <= 4; ++number) {
    const std::vector<float> state = state_of(round);
    ASSERT_EQ(state.empty(), number == 1);
    const std::vector<std::vector<float>> steps = {some_values(10 * number, kValues, 0.1),
                                                   some_values(10 * number + 1, kValues, 0.1),
                                                   some_values(10 * number + 2, kValues, 0.1)};
    // Two devices of the first group, one of the second; of the second nobody in the third round.
    std::vector<TestUpdate> updates = {update_of(round, 0, state, steps[0], 5, 1),
                                       update_of(round, 0, state, steps[1], 1, 2.5f)};
    const bool has_second = number != 3;
    if (has_second) updates.push_back(update_of(round, 1, state, steps[2], 2, 3));
    round.add_partial("p" + std::to_string(number), updates);
    const auto finalized = round.finalize();
    ASSERT_OK(finalized);
    const double a = lambda[0] / share[0], b = has_second ? lambda[1] / share[1] : 0;
    for (size_t i = 0; i < kValues; ++i) {
      const double first = 5 * static_cast<double>(steps[0][i]) + static_cast<double>(steps[1][i]);
      weights[i] += (a * first + b * 2 * static_cast<double>(steps[2][i])) / (a * 6 + b * 2);
    }
    const std::vector<float> moved = round.weights_of(finalized->model);
    for (size_t i = 0; i < kValues; ++i) EXPECT_NEAR(moved[i], weights[i], 1e-5) << "round " << number << ", " << i;
    if (has_second) {
      const double by = 0.1 * (3 - (5 * 1 + 2.5) / 6) / 2;
      lambda = {lambda[0] - by, lambda[1] + by};
    }
    const std::vector<double> seen = {has_second ? 0.75 : 1, has_second ? 0.25 : 0};
    for (size_t g = 0; g < 2; ++g) share[g] += (seen[g] - share[g]) / static_cast<double>(number);
    round.commit(*finalized);
    const std::vector<float> after = state_of(round);
    ASSERT_EQ(after.size(), 4u);
    for (size_t g = 0; g < 2; ++g) {
      EXPECT_NEAR(after[g], lambda[g], 1e-6) << "round " << number;
      EXPECT_NEAR(after[2 + g], share[g], 1e-6) << "round " << number;
    }
  }
}

// A round that is finalized twice, as after a crash, has one outcome.
TEST(GroupRounds, ComeToTheSameIfTheyAreFinalizedAgain) {
  FrozenRound round(afl(), some_values(1, kValues, 1));
  for (uint64_t number = 1; number <= 2; ++number) {
    const std::vector<float> state = state_of(round), step = some_values(number, kValues, 0.1);
    round.add_partial("p" + std::to_string(number),
                      {update_of(round, 0, state, step, 3, 1), update_of(round, 1, state, step, 2, 2)});
    const auto first = round.finalize(), second = round.finalize();
    ASSERT_OK(first);
    ASSERT_OK(second);
    EXPECT_EQ(first->model.digest, second->model.digest);
    EXPECT_EQ(first->model.optimizer_state, second->model.optimizer_state);
    ASSERT_TRUE(first->model.optimizer_state);
    round.commit(*second);
  }
}

TEST(GroupRounds, RefuseTheStateOfOtherGroups) {
  FrozenRound round(afl(), some_values(1, kValues, 1));
  const std::vector<float> state(6, 1 / 3.0f);
  Bytes file = encode_head(OptimizerStateHeader{.strategy = 12, .step = 1, .value_count = 6, .vectors = 1});
  const ByteView payload = test::bytes_of(state);
  file.insert(file.end(), payload.begin(), payload.end());
  round.base_.optimizer_state = *round.blobs_.put(file);
  round.add_partial("p", {update_of(round, 0, {}, some_values(2, kValues, 0.1), 1, 1)});
  EXPECT_ERROR(round.finalize(), ErrorCode::data_loss, "of another model");
}

}  // namespace
}  // namespace coterie
