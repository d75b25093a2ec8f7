// Held-out examples: which they are, what training makes of them, and what is kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "device_sdk/runtime/trainer.h"
#include "device_sdk/runtime/validation.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

constexpr uint64_t kCount = 40;
constexpr uint64_t kHeldOut = 10;

Model small_mlp() { return load_or_die(make_model(ModelKind::mlp, {8, 8, 1}, 10, 2)); }

// Labels by chance: whoever learns them by heart gets worse on the others.
Examples noise() { return Examples(kCount, 64, 10); }

TrainOptions stopping_options(uint32_t patience = 2) {
  TrainOptions options;
  options.optimizer = {.learning_rate = 0.3f, .momentum = 0.9f};
  options.batch_size = 8;
  options.epochs = 50;
  options.seed = 9;
  options.early_stopping = EarlyStopping{.validation_share = 0.25f, .patience = patience};
  return options;
}

Trainer trainer_of(const Model& model, const TrainOptions& options, ExampleSource& examples) {
  Result<Trainer> trainer = Trainer::create(model, options, examples);
  EXPECT_OK(trainer);
  return std::move(*trainer);
}

std::vector<float> copied(std::span<const float> values) { return {values.begin(), values.end()}; }

double held_out_loss(const Model& model, const std::vector<float>& parameters, ExampleSource& examples) {
  ExamplePart part(examples, split_examples(kCount, 0.25f).held_out);
  Result<Evaluator> evaluator = Evaluator::create(model, Loss::softmax_cross_entropy, 6);
  EXPECT_OK(evaluator);
  const Result<Evaluation> evaluation = evaluator->run(parameters, part);
  EXPECT_OK(evaluation);
  return evaluation->loss_mean;
}

TEST(ExampleSplit, HasEachExampleOnceAndTheShareRoundedDown) {
  for (const auto& [count, share, held_out] :
       std::vector<std::tuple<uint64_t, float, size_t>>{{1, 0.5f, 0}, {2, 0.5f, 1}, {9, 0.1f, 0}, {1000, 0.25f, 250}}) {
    const ExampleSplit split = split_examples(count, share);
    EXPECT_EQ(split.held_out.size(), held_out);
    EXPECT_EQ(held_out_count(count, share), held_out);
    std::vector<uint32_t> all = split.trained;
    all.insert(all.end(), split.held_out.begin(), split.held_out.end());
    std::sort(all.begin(), all.end());
    std::vector<uint32_t> expected(count);
    std::iota(expected.begin(), expected.end(), 0u);
    EXPECT_EQ(all, expected);
  }
}

TEST(ExampleSplit, HoldsNeighboursApartAndMostlyTheSameWhereExamplesAreAdded) {
  const ExampleSplit before = split_examples(1000, 0.2f), after = split_examples(1100, 0.2f);
  std::vector<uint32_t> kept;
  std::set_intersection(before.held_out.begin(), before.held_out.end(), after.held_out.begin(), after.held_out.end(),
                        std::back_inserter(kept));
  EXPECT_GT(kept.size(), 180u);
  for (uint32_t from = 0; from < 1000; from += 250) {
    const auto in_quarter = std::count_if(before.held_out.begin(), before.held_out.end(),
                                          [&](uint32_t i) { return i >= from && i < from + 250; });
    EXPECT_GT(in_quarter, 25);
    EXPECT_LT(in_quarter, 75);
  }
}

TEST(ObserveValidation, TakesALowerLossAloneForAGain) {
  ValidationProgress progress;
  EXPECT_TRUE(observe_validation(2, 5, progress));
  EXPECT_FALSE(observe_validation(2, 10, progress)) << "a tie";
  EXPECT_FALSE(observe_validation(std::numeric_limits<double>::quiet_NaN(), 15, progress));
  EXPECT_EQ(progress, (ValidationProgress{15, 5, 2, 2}));
  EXPECT_TRUE(observe_validation(1.5, 20, progress));
  EXPECT_EQ(progress, (ValidationProgress{20, 20, 1.5, 0}));
}

TEST(ObserveValidation, HasNoBestOfLossesThatAreNotFinite) {
  ValidationProgress progress;
  EXPECT_FALSE(observe_validation(std::numeric_limits<double>::infinity(), 5, progress));
  EXPECT_EQ(progress, (ValidationProgress{5, 0, 0, 1}));
  EXPECT_TRUE(observe_validation(-1, 10, progress)) << "the first that is finite";
}

TEST(EarlyStopping, EndsWhereHeldOutExamplesStopGainingAndKeepsTheBest) {
  const Model model = small_mlp();
  Examples examples = noise();
  Trainer trainer = trainer_of(model, stopping_options(), examples);
  const std::vector<uint32_t> held_out = split_examples(kCount, 0.25f).held_out;
  std::map<uint64_t, std::vector<float>> after;  // by steps, behind each epoch
  while (!trainer.finished()) {
    const uint64_t steps = trainer.summary().steps;
    const std::vector<uint32_t> reads = examples.reads();
    ASSERT_OK(trainer.step());
    const bool has_trained = trainer.summary().steps > steps;
    for (uint32_t i = 0; i < kCount; ++i) {
      const bool is_held_out = std::binary_search(held_out.begin(), held_out.end(), i);
      if (examples.reads()[i] != reads[i]) EXPECT_EQ(is_held_out, !has_trained) << i;
    }
    if (has_trained && trainer.summary().examples % (kCount - kHeldOut) == 0) {
      after[trainer.summary().steps] = copied(trainer.parameters());
    }
  }
  const ValidationSummary validation = trainer.validation();
  EXPECT_EQ(validation.examples, kHeldOut);
  EXPECT_TRUE(validation.has_stopped);
  EXPECT_LT(trainer.summary().steps, trainer.steps_in_all());
  EXPECT_EQ(trainer.kept_steps(), validation.best_step);
  ASSERT_TRUE(after.contains(validation.best_step));
  EXPECT_EQ(copied(trainer.parameters()), after[validation.best_step]);
  EXPECT_EQ(after.rbegin()->first, validation.best_step + 2 * 4) << "two epochs of patience";
  for (const auto& [steps, parameters] : after) {
    const double loss = held_out_loss(model, parameters, examples);
    if (steps == validation.best_step) EXPECT_NEAR(loss, validation.best_loss, 1e-6);
    else EXPECT_GT(loss, validation.best_loss);
  }
  std::vector<float> delta(model.value_count());
  trainer.delta(delta);
  EXPECT_EQ(delta[0], after[validation.best_step][0] - model.parameters()[0]);
  EXPECT_ERROR(trainer.step(), ErrorCode::conflict, "finished");
}

TEST(EarlyStopping, GoesOnFromACheckpointToTheSameBits) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  const Model model = small_mlp();
  Examples examples = noise();
  TrainOptions options = stopping_options();
  options.optimizer.kind = OptimizerKind::adam;
  options.optimizer.learning_rate = 0.02f;
  Trainer whole = trainer_of(model, options, examples);
  while (!whole.finished()) {
    ASSERT_OK(whole.step());
    ASSERT_OK(whole.save_checkpoint(path));
    Trainer resumed = trainer_of(model, options, examples);
    ASSERT_OK(resumed.restore_checkpoint(path));
    EXPECT_EQ(resumed.finished(), whole.finished());
    EXPECT_EQ(resumed.validation(), whole.validation());
    ASSERT_EQ(copied(resumed.parameters()), copied(whole.parameters()));
  }
  // From the middle, with the held-out examples looked at by half, to the end.
  Trainer first = trainer_of(model, options, examples);
  for (int i = 0; i < 5; ++i) ASSERT_OK(first.step());
  ASSERT_OK(first.save_checkpoint(path));
  Trainer second = trainer_of(model, options, examples);
  ASSERT_OK(second.restore_checkpoint(path));
  while (!second.finished()) ASSERT_OK(second.step());
  EXPECT_EQ(second.summary(), whole.summary());
  EXPECT_EQ(copied(second.parameters()), copied(whole.parameters()));
}

TEST(EarlyStopping, TakesNoCheckpointOfAnotherPatience) {
  const TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  const Model model = small_mlp();
  Examples examples = noise();
  Trainer trainer = trainer_of(model, stopping_options(2), examples);
  ASSERT_OK(trainer.step());
  ASSERT_OK(trainer.save_checkpoint(path));
  Trainer other = trainer_of(model, stopping_options(3), examples);
  EXPECT_ERROR(other.restore_checkpoint(path), ErrorCode::conflict, "early_stopping");
}

TEST(EarlyStopping, LooksOnceMoreWhereStepsEndWithinAnEpoch) {
  const Model model = small_mlp();
  Examples examples = noise();
  TrainOptions options = stopping_options();
  options.optimizer.learning_rate = 0.001f;
  options.steps_max = 6;  // an epoch has 4
  Trainer trainer = trainer_of(model, options, examples);
  while (!trainer.finished()) ASSERT_OK(trainer.step());
  EXPECT_EQ(trainer.summary().steps, 6u);
  EXPECT_FALSE(trainer.validation().has_stopped);
  EXPECT_NEAR(held_out_loss(model, copied(trainer.parameters()), examples), trainer.validation().best_loss, 1e-6);
}

TEST(EarlyStopping, HoldsNothingOutOfTooFewExamples) {
  const Model model = small_mlp();
  Examples examples(3, 64, 10);
  TrainOptions options = stopping_options();
  options.epochs = 2;
  Trainer trainer = trainer_of(model, options, examples);
  options.early_stopping.reset();
  Trainer plain = trainer_of(model, options, examples);
  while (!trainer.finished()) ASSERT_OK(trainer.step());
  while (!plain.finished()) ASSERT_OK(plain.step());
  EXPECT_EQ(trainer.validation(), ValidationSummary{});
  EXPECT_EQ(trainer.kept_steps(), trainer.summary().steps);
  EXPECT_EQ(copied(trainer.parameters()), copied(plain.parameters()));
}

TEST(EarlyStopping, TriesABatchAgainThatCouldNotBeRead) {
  const Model model = small_mlp();
  Examples examples = noise();
  Trainer whole = trainer_of(model, stopping_options(), examples);
  while (!whole.finished()) ASSERT_OK(whole.step());
  Trainer trainer = trainer_of(model, stopping_options(), examples);
  for (int i = 0; i < 5; ++i) ASSERT_OK(trainer.step());  // the first of two batches is looked at
  examples.fail_at(split_examples(kCount, 0.25f).held_out.back());
  EXPECT_ERROR(trainer.step(), ErrorCode::unavailable, "disk is gone");
  examples.heal();
  while (!trainer.finished()) ASSERT_OK(trainer.step());
  EXPECT_EQ(copied(trainer.parameters()), copied(whole.parameters()));
  EXPECT_EQ(trainer.validation(), whole.validation());
}

TEST(EarlyStopping, IsPartOfWhatTrainingTakes) {
  const Model model = small_mlp();
  Examples examples = noise();
  const Result<TrainingMemory> planned = Trainer::plan(model, stopping_options(), kCount);
  ASSERT_OK(planned);
  const TrainingMemory real = trainer_of(model, stopping_options(), examples).memory();
  EXPECT_EQ(planned->validation_bytes, real.validation_bytes);
  EXPECT_GT(real.validation_bytes, model.value_count() * sizeof(float) + kHeldOut * sizeof(uint32_t));
  EXPECT_EQ(real.order_bytes, (kCount - kHeldOut) * sizeof(uint32_t));
}

TEST(EarlyStopping, RefusesWhatIsOutOfRange) {
  const Model model = small_mlp();
  Examples examples = noise();
  for (const float share : {0.0f, -0.1f, 0.6f, std::numeric_limits<float>::quiet_NaN()}) {
    TrainOptions options = stopping_options();
    options.early_stopping->validation_share = share;
    EXPECT_ERROR(Trainer::create(model, options, examples), ErrorCode::invalid_argument, "validation_share");
  }
  for (const uint32_t patience : {0u, kPatienceMax + 1}) {
    EXPECT_ERROR(Trainer::create(model, stopping_options(patience), examples), ErrorCode::invalid_argument, "patience");
  }
}

}  // namespace
}  // namespace coterie::test
