// Rounds of a model with batch norm, end to end but for the network: the device's training and what it makes of its
// statistics, the exact sum, the finalizer, the evaluation. With FedAdam at rate 0.1, which drove running variances
// below 0 and the model to NaN when it was applied to them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device_sdk/agent/encode_update.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/trainer.h"
#include "fl_server/evaluation/model_evaluator.h"
#include "proto/messages/running_statistics.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"
#include "tools/data/digits.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::TestUpdate;

constexpr uint32_t kDevices = 4, kExamplesEach = 120, kRounds = 25;

// Convolution, batch norm, ReLU, dense: the variances behind such a convolution are far below the server's steps.
Bytes small_model() {
  ModelBuilder build("normed", {8, 8, 1}, 3);
  const ConvLayer layer{.filters = 8, .kernel = 3, .pad = 1, .bias = false};
  const TensorId hidden = build.relu(build.batch_norm(build.conv2d(build.input(), layer)));
  return *build.finish(build.dense(build.flatten(hidden), 10));
}

std::vector<uint32_t> rows(uint32_t first, uint32_t count) {
  std::vector<uint32_t> chosen(count);
  std::iota(chosen.begin(), chosen.end(), first);
  return chosen;
}

class BatchNormRounds : public testing::Test {
 protected:
  // The device's side of a round.
  TestUpdate trained(const FrozenRound& round, uint32_t device) {
    const Model model = *Model::load(current_);
    DatasetSource own = *DatasetSource::load(dataset_file(table_, rows(device * kExamplesEach, kExamplesEach)));
    Trainer trainer = *Trainer::create(model, {.batch_size = 16, .optimizer = {.learning_rate = 0.05f}}, own, device);
    while (!trainer.finished()) EXPECT_OK(trainer.step());
    const UpdateRules rules = plan_of(round.job_.spec.horizontal(), round.job_.id, round.job_.value_count).update;
    TestUpdate update{std::vector<float>(model.value_count()), update_weight(kExamplesEach, rules)};
    trainer.delta(update.values);
    EXPECT_OK(limit_update(update.values, rules, running_statistics(model.graph())));
    return update;
  }

  const ExampleTable table_ = to_table(built_in_digits());
  Bytes current_ = small_model();
};

TEST_F(BatchNormRounds, StayFiniteWithAnAdaptiveServer) {
  const StrategySettings strategy = StrategySettings::of("fedadam").with("server_learning_rate", 0.1f);
  FrozenRound round(strategy, current_, [](HorizontalSettings& settings) {
    settings.strategy.statistics = Statistics::pooled;
    settings.evaluation = Digest{};
  });
  const Bytes held_out = dataset_file(table_, rows(kDevices * kExamplesEach, 200));
  round.job_.spec.horizontal().evaluation = *round.blobs_.put(held_out);
  const std::vector<RunningStatistics> statistics = running_statistics(decode_model(current_)->header);
  ASSERT_EQ(statistics.size(), 1u);
  double accuracy = 0;
  for (uint32_t number = 1; number <= kRounds; ++number) {
    std::vector<TestUpdate> updates;
    for (uint32_t device = 0; device < kDevices; ++device) updates.push_back(trained(round, device));
    round.add_partial("p" + std::to_string(number), updates);
    const auto finalized = round.finalize(evaluate_model);
    ASSERT_OK(finalized);
    const std::vector<float> weights = round.weights_of(finalized->model);
    for (uint64_t i = 0; i < statistics[0].channels; ++i) {
      EXPECT_GE(weights[statistics[0].variance + i], 0) << "round " << number << ", channel " << i;
    }
    ASSERT_TRUE(std::isfinite(*finalized->model.evaluation_loss)) << "round " << number;
    accuracy = std::max(accuracy, *finalized->model.evaluation_accuracy);
    current_ = round.blobs_.bytes_of(finalized->model.digest);
    round.commit(*finalized);
  }
  EXPECT_GT(accuracy, 0.3) << "and it learns";
}

}  // namespace
}  // namespace coterie
