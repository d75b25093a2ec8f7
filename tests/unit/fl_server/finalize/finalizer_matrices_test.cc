// Strategies that move linear maps as a whole: where tiles end does not matter, nor which server goes on.
#include <gtest/gtest.h>

#include "aggregation/strategy/strategy_matrix.h"
#include "device_sdk/runtime/model_builder.h"
#include "proto/messages/linear_maps.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using namespace test;

// A table, a map that a tile (32 * 1,024 values) ends in, one that lies behind it, and biases.
Bytes mapped_model() {
  ModelBuilder build("maps", {4}, 3, DataType::int32);
  const TensorId words = build.op(OpKind::flatten, {build.embedding(build.input(), 9, 65)});
  return *build.finish(build.dense(build.relu(build.dense(words, 128)), 10));
}

const StrategySettings kStrategies[] = {StrategySettings::of("fedmuon"), StrategySettings::of("fedshampoo")};

TestUpdate update_of(FrozenRound& round, uint64_t seed) { return {some_values(seed, round.update_values(), .1), 1}; }

// What the rule makes of the same means, map by map and value by value.
class Expected {
 public:
  Expected(const StrategySettings& strategy, const Bytes& model, std::vector<float> weights)
      : strategy_(strategy),
        maps_(linear_maps(decode_model(model)->header)),
        parameters_(parameter_values(decode_model(model)->header)),
        weights_(std::move(weights)),
        state_(strategy.rule->state_vectors, std::vector<float>(weights_.size())) {}

  size_t maps() const { return maps_.size(); }
  const std::vector<float>& by(const std::vector<float>& mean) {
    for (const ValueRange& range : parameters_) {
      const std::span<const float> own = std::span(mean).subspan(range.first, range.count);
      const std::span<float> weights = std::span(weights_).subspan(range.first, range.count);
      std::vector<std::span<float>> state;
      for (std::vector<float>& vector : state_) state.push_back(std::span(vector).subspan(range.first, range.count));
      const auto map = std::ranges::find(maps_, range, &LinearMap::values);
      if (map == maps_.end()) {
        strategy_.rule->apply({.mean = own, .settings = strategy_.values, .state = state, .weights = weights});
        continue;
      }
      std::vector<float> step(range.count);
      strategy_.rule->move_matrix({map->rows, map->columns, own, strategy_.values, state, step});
      for (size_t i = 0; i < step.size(); ++i) weights[i] += step[i];
    }
    return weights_;
  }

 private:
  StrategySettings strategy_;
  std::vector<LinearMap> maps_;
  std::vector<ValueRange> parameters_;
  std::vector<float> weights_;
  std::vector<std::vector<float>> state_;
};

// The mean of one update of weight 1 has its bits, but for the grid.
TEST(FinalizerWithMatrices, MovesEachAsAWholeWhereverTilesEnd) {
  const Bytes model = mapped_model();
  for (const StrategySettings& strategy : kStrategies) {
    SCOPED_TRACE(strategy.rule->name);
    FrozenRound round(strategy, model);
    Expected expected(strategy, model, round.weights_of(round.base_));
    EXPECT_EQ(expected.maps(), 2u) << "the table is none";
    for (uint64_t number = 1; number <= 2; ++number) {
      const TestUpdate update = update_of(round, number);
      round.add_partial("p" + std::to_string(number), {update});
      const auto finalized = round.finalize();
      ASSERT_OK(finalized);
      const std::vector<float>& weights = expected.by(update.values);
      const std::vector<float> seen = round.weights_of(finalized->model);
      for (size_t i = 0; i < seen.size(); ++i) ASSERT_NEAR(seen[i], weights[i], 2e-5) << i;
      round.commit(*finalized);
    }
  }
}

// One server sees both rounds. The other two see one each, the second with what the first has stored.
TEST(FinalizerWithMatrices, GoesOnToTheSameBitsOnAnotherServer) {
  const Bytes model = mapped_model();
  for (const StrategySettings& strategy : kStrategies) {
    SCOPED_TRACE(strategy.rule->name);
    std::vector<std::vector<Digest>> names;
    for (int server = 0; server < 2; ++server) {
      FrozenRound round(strategy, model);
      names.emplace_back();
      for (uint64_t number = 1; number <= 2; ++number) {
        // The second server has the sum in two parts.
        const std::vector<TestUpdate> updates = {update_of(round, number), update_of(round, 10 + number)};
        if (server == 0) {
          round.add_partial("p" + std::to_string(number), updates);
        } else {
          round.add_partial("q" + std::to_string(number), {updates[1]});
          round.add_partial("r" + std::to_string(number), {updates[0]});
        }
        const auto finalized = round.finalize(), again = round.finalize();
        ASSERT_OK(finalized);
        ASSERT_OK(again);
        EXPECT_EQ(finalized->model.digest, again->model.digest) << "a server that was killed before it committed";
        EXPECT_EQ(finalized->model.optimizer_state, again->model.optimizer_state);
        ASSERT_TRUE(finalized->model.optimizer_state.has_value());
        names.back().push_back(finalized->model.digest);
        names.back().push_back(*finalized->model.optimizer_state);
        round.commit(*finalized);
      }
    }
    EXPECT_EQ(names[0], names[1]);
  }
}

// What is peeked at has no noise: a matrix that moved by that would tell what the noise hides.
TEST(FinalizerWithMatrices, MovesByTheMeanThatHasTheNoise) {
  FrozenRound round(kStrategies[0], mapped_model(), [](HorizontalSettings& settings) {
    settings.update.clip_l2 = 1;
    settings.update.weight_max = 1;
    settings.rounds.goal_count = 2;
    settings.privacy = {SecurityLevel::none, 1.5, 1e-6, 100};
  });
  const std::vector<float> before = round.weights_of(round.base_);
  round.add_partial("p", std::vector<TestUpdate>(2, {std::vector<float>(round.update_values()), 1}));
  round.move(RoundState::frozen);
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  const std::vector<float> after = round.weights_of(finalized->model);
  for (const LinearMap& map : linear_maps(decode_model(mapped_model())->header)) {
    size_t moved = 0;
    for (uint64_t i = map.values.first; i < map.values.first + map.values.count; ++i) moved += after[i] != before[i];
    EXPECT_GT(moved, map.values.count / 2);
  }
}

}  // namespace
}  // namespace coterie
