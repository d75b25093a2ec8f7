#include "device_sdk/runtime/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

constexpr size_t kFeatures = 64;

TrainingSettings settings_for(uint32_t batch, uint32_t epochs, OptimizerSettings optimizer = {.learning_rate = 0.05f}) {
  return {.batch_size = batch, .local_epochs = epochs, .optimizer = optimizer};
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

TEST(Trainer, ReadsEveryExampleOnceAnEpochWithASmallerLastBatch) {
  Examples examples(10, kFeatures, 10);
  Result<Trainer> trainer = Trainer::create(small_cnn(), settings_for(4, 3), examples, 1);
  ASSERT_OK(trainer);
  const uint64_t seen_after_step[] = {4, 8, 10, 14, 18, 20, 24, 28, 30};
  for (const uint64_t seen : seen_after_step) {
    EXPECT_FALSE(trainer->finished());
    ASSERT_OK(trainer->step());
    EXPECT_EQ(trainer->summary().examples, seen);
  }
  EXPECT_TRUE(trainer->finished());
  EXPECT_EQ(trainer->summary().steps, 9u);
  EXPECT_EQ(examples.reads(), std::vector<uint32_t>(10, 3));
  EXPECT_ERROR(trainer->step(), ErrorCode::conflict, "finished");
}

TEST(Trainer, ShufflesTheExamplesAnewForEachEpoch) {
  class Recorder : public Examples {
   public:
    using Examples::Examples;
    Status read(uint64_t index, const Example& to) override {
      order.push_back(index);
      return Examples::read(index, to);
    }
    std::vector<uint64_t> order;
  } examples(16, kFeatures, 10);
  Result<Trainer> trainer = Trainer::create(small_cnn(), settings_for(5, 3), examples, 1);
  ASSERT_OK(trainer);
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  ASSERT_EQ(examples.order.size(), 48u);
  const auto epoch = [&](size_t i) {
    const auto from = examples.order.begin() + static_cast<ptrdiff_t>(i * 16);
    return std::vector<uint64_t>(from, from + 16);
  };
  std::vector<uint64_t> sorted(16);
  std::iota(sorted.begin(), sorted.end(), 0u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NE(epoch(i), sorted);
    EXPECT_NE(epoch(i), epoch((i + 1) % 3));
    std::vector<uint64_t> all = epoch(i);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, sorted);
  }
}

TEST(Trainer, StopsAtStepsMax) {
  Examples examples(10, kFeatures, 10);
  TrainingSettings settings = settings_for(4, 100);
  settings.steps_max = 5;
  Result<Trainer> trainer = Trainer::create(small_cnn(), settings, examples, 1);
  ASSERT_OK(trainer);
  for (int i = 0; i < 5; ++i) ASSERT_OK(trainer->step());
  EXPECT_TRUE(trainer->finished());
}

TEST(Trainer, LearnsAndItsDeltaIsTheDifferenceToTheModel) {
  const Model model = small_cnn();
  Examples examples(32, kFeatures, 10);
  Result<Trainer> trainer =
      Trainer::create(model, settings_for(8, 60, {.learning_rate = 0.05f, .momentum = 0.9f}), examples, 1);
  ASSERT_OK(trainer);
  double first_epoch = 0;
  while (!trainer->finished()) {
    ASSERT_OK(trainer->step());
    if (trainer->summary().steps == 4) first_epoch = trainer->summary().loss_sum / 32;
  }
  const double before_last = trainer->summary().loss_sum;
  EXPECT_GT(first_epoch, 2.0);
  EXPECT_LT(before_last / 32 / 60, first_epoch / 2);  // the mean over all epochs: random labels are learnt by heart
  std::vector<float> delta(model.value_count());
  trainer->delta(delta);
  double moved = 0;
  for (size_t i = 0; i < delta.size(); ++i) {
    ASSERT_EQ(delta[i], trainer->parameters()[i] - model.parameters()[i]) << i;
    moved += std::fabs(delta[i]);
  }
  EXPECT_GT(moved, 1);
}

TEST(Trainer, NeverMovesThePaddingBetweenParameters) {
  ModelBuilder build("padded", {3}, 1);
  const Model model = load_or_die(build.finish(build.dense(build.relu(build.dense(build.input(), 5)), 3)));
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam}) {
    Examples examples(9, 3, 3);
    Result<Trainer> trainer =
        Trainer::create(model, settings_for(4, 5, {.kind = kind, .momentum = 0.9f, .weight_decay = 0.1f}), examples, 1);
    ASSERT_OK(trainer);
    while (!trainer->finished()) ASSERT_OK(trainer->step());
    std::vector<bool> is_parameter(model.value_count());
    for (const TensorInfo& tensor : model.graph().tensors) {
      if (tensor.role != TensorRole::parameter) continue;
      const size_t first = tensor.payload_offset / sizeof(float), count = *element_count(tensor.shape);
      for (size_t i = first; i < first + count; ++i) is_parameter[i] = true;
    }
    for (size_t i = 0; i < is_parameter.size(); ++i) {
      if (!is_parameter[i]) {
        EXPECT_EQ(trainer->parameters()[i], 0) << i;
      }
    }
  }
}

TEST(Trainer, GivesTheSameBitsForTheSameSeedAndOthersForAnother) {
  Examples examples(20, 7 * 6 * 4, 5);
  const auto train = [&](uint64_t seed) {
    Result<Trainer> trainer = Trainer::create(tangled_net(), settings_for(6, 2), examples, seed);
    EXPECT_OK(trainer);
    while (!trainer->finished()) EXPECT_OK(trainer->step());
    return std::vector<float>(trainer->parameters().begin(), trainer->parameters().end());
  };
  EXPECT_TRUE(same_bits(train(1), train(1)));
  EXPECT_FALSE(same_bits(train(1), train(2)));
}

TEST(Trainer, ChangesNothingWhenAStepFails) {
  Examples examples(8, kFeatures, 10), twin(8, kFeatures, 10);
  Result<Trainer> trainer = Trainer::create(small_cnn(), settings_for(4, 2), examples, 1);
  Result<Trainer> undisturbed = Trainer::create(small_cnn(), settings_for(4, 2), twin, 1);
  ASSERT_OK(trainer);
  ASSERT_OK(undisturbed);
  const std::vector<float> start(trainer->parameters().begin(), trainer->parameters().end());
  for (uint64_t i = 0; i < 8; ++i) {
    examples.fail_at(i);
    const Status done = trainer->step();
    if (done) break;  // example i is not in the first batch
    EXPECT_ERROR(done, ErrorCode::unavailable, "disk is gone");
    EXPECT_TRUE(same_bits(start, trainer->parameters()));
    EXPECT_EQ(trainer->summary(), TrainingSummary{});
  }
  examples.heal();
  while (!trainer->finished()) ASSERT_OK(trainer->step());
  while (!undisturbed->finished()) ASSERT_OK(undisturbed->step());
  EXPECT_TRUE(same_bits(trainer->parameters(), undisturbed->parameters()));
  EXPECT_EQ(trainer->summary(), undisturbed->summary());
}

TEST(Trainer, RefusesLabelsThatAreNoClass) {
  for (const int32_t label : {-1, 10, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    Examples examples(3, kFeatures, 10);
    examples.set_label(1, label);
    Result<Trainer> trainer = Trainer::create(small_cnn(), settings_for(3, 1), examples, 1);
    ASSERT_OK(trainer);
    EXPECT_ERROR(trainer->step(), ErrorCode::invalid_argument, "example 1 has a label outside [0, 10)");
  }
}

TEST(Trainer, TakesAnyLabelAsTheTargetOfARegression) {
  ModelBuilder build("regression", {2}, 1);
  const Model model = load_or_die(build.finish(build.dense(build.input(), 1)));
  Examples examples(4, 2, 1);
  examples.set_label(0, -50);
  TrainingSettings settings = settings_for(4, 1);
  settings.loss = Loss::mean_squared_error;
  Result<Trainer> trainer = Trainer::create(model, settings, examples, 1);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  EXPECT_GT(trainer->summary().loss_sum, 2000);
  EXPECT_EQ(trainer->summary().correct, 0u);
}

TEST(Trainer, ReportsDivergenceInsteadOfTrainingOnNaN) {
  Examples examples(4, kFeatures, 10);
  examples.set_feature(2, 5, std::numeric_limits<float>::quiet_NaN());
  Result<Trainer> trainer = Trainer::create(small_cnn(), settings_for(4, 2), examples, 1);
  ASSERT_OK(trainer);
  EXPECT_ERROR(trainer->step(), ErrorCode::invalid_argument, "not finite; training diverged");
  EXPECT_EQ(trainer->summary(), TrainingSummary{});
  EXPECT_TRUE(same_bits(trainer->parameters(), small_cnn().parameters()));
}

TEST(Trainer, RefusesSettingsItCannotFollow) {
  const Model model = small_cnn();
  Examples examples(4, kFeatures, 10), none(0, kFeatures, 10);
  const auto refuse = [&](TrainingSettings settings, const char* words) {
    EXPECT_ERROR(Trainer::create(model, settings, examples, 1), ErrorCode::invalid_argument, words);
  };
  refuse(settings_for(0, 1), "batch_size");
  refuse(settings_for(1, 0), "epochs must be");
  refuse(settings_for(1, 1, {.kind = static_cast<OptimizerKind>(11)}), "optimizer is unknown");
  refuse(settings_for(1, 1, {.learning_rate = std::numeric_limits<float>::infinity()}), "not finite");
  refuse(settings_for(1, 1, {.kind = OptimizerKind::adam, .beta2 = 1.0f}), "beta1 and beta2");
  TrainingSettings odd = settings_for(1, 1);
  odd.loss = static_cast<Loss>(12);
  refuse(odd, "the loss is unknown");
  EXPECT_ERROR(Trainer::create(model, settings_for(1, 1), none, 1), ErrorCode::invalid_argument, "no examples");
}

TEST(Trainer, RefusesALossThatDoesNotFitTheOutput) {
  ModelBuilder one("one", {4}, 1);
  const Model single = load_or_die(one.finish(one.dense(one.input(), 1)));
  Examples examples(4, 16, 2);
  EXPECT_ERROR(Trainer::create(single, settings_for(1, 1), examples, 1), ErrorCode::invalid_argument,
               "an output of batch x at least 2, the model's is 1x1");
}

TEST(Trainer, KeepsTheModelAliveAndMayBeMoved) {
  Examples examples(6, kFeatures, 10);
  Result<Trainer> made = [&] { return Trainer::create(small_cnn(), settings_for(3, 1), examples, 1); }();
  ASSERT_OK(made);
  Trainer trainer = std::move(*made);
  while (!trainer.finished()) ASSERT_OK(trainer.step());
  std::vector<float> delta(trainer.parameters().size());
  trainer.delta(delta);
}

TEST(Trainer, PlansItsMemoryNearTheLowerBound) {
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5}) {
    for (const uint32_t batch : {1u, 8u, 32u}) {
      Examples examples(32, 28 * 28, 10);
      const Model model = load_or_die(make_model(kind, {28, 28, 1}, 10, 1));
      Result<Trainer> trainer = Trainer::create(model, settings_for(batch, 1, {.momentum = 0.9f}), examples, 1);
      ASSERT_OK(trainer);
      const TrainingMemory memory = trainer->memory();
      EXPECT_GE(memory.planned_bytes, memory.planned_lower_bound);
      EXPECT_LE(static_cast<double>(memory.planned_bytes), 1.05 * static_cast<double>(memory.planned_lower_bound));
      EXPECT_EQ(memory.parameter_bytes, model.value_count() * sizeof(float));
      EXPECT_EQ(memory.optimizer_bytes, memory.parameter_bytes);
      EXPECT_GE(memory.arena_bytes, memory.parameter_bytes + memory.optimizer_bytes + memory.planned_bytes);
      EXPECT_EQ(trainer->arena_bytes(), memory.arena_bytes);
    }
  }
}

TEST(Trainer, DoesNotReserveABatchLargerThanTheData) {
  Examples few(2, kFeatures, 10), many(64, kFeatures, 10);
  Result<Trainer> small = Trainer::create(small_cnn(), settings_for(64, 1), few, 1);
  Result<Trainer> large = Trainer::create(small_cnn(), settings_for(64, 1), many, 1);
  ASSERT_OK(small);
  ASSERT_OK(large);
  EXPECT_LT(small->memory().planned_bytes, large->memory().planned_bytes / 2);
  ASSERT_OK(small->step());
  EXPECT_TRUE(small->finished());
}

}  // namespace
}  // namespace coterie::test
