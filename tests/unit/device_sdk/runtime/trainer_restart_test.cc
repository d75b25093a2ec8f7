// A trainer that begins anew is as a new one, to the bit.
#include <gtest/gtest.h>

#include <cstring>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

constexpr size_t kFeatures = 64;
constexpr uint64_t kCount = 13;

// With running statistics, which move, and with chance.
Model norm_and_dropout() {
  ModelBuilder build("restarted", {8, 8, 1}, 5);
  TensorId x = build.relu(build.batch_norm(build.conv2d(build.input(), {.filters = 4, .kernel = 3, .pad = 1})));
  x = build.op(OpKind::dropout, {build.flatten(x)}, DropoutAttributes{0.3f});
  return load_or_die(build.finish(build.dense(x, 10)));
}

TrainOptions plain() {
  TrainOptions options;
  options.batch_size = 4;  // the last of an epoch is smaller
  options.epochs = 4;
  options.optimizer = {.learning_rate = 0.2f};
  return options;
}

void expect_same(const Trainer& one, const Trainer& other) {
  EXPECT_EQ(one.summary(), other.summary());
  EXPECT_EQ(one.epoch_start(), other.epoch_start());
  EXPECT_EQ(one.learning_rate(), other.learning_rate());
  const auto a = one.parameters(), b = other.parameters();
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0);
}

// From after each of so many steps, in the midst of an epoch, at its end, and behind the last.
void expect_begins_anew(const Model& model, TrainOptions options, uint64_t second_count = kCount) {
  for (const int steps : {1, 4, 6, 16}) {
    Examples first(kCount, kFeatures, 10, 3), second(second_count, kFeatures, 10, 4);
    options.seed = 1;
    Result<Trainer> again = Trainer::create(model, options, first);
    ASSERT_OK(again);
    for (int i = 0; i < steps; ++i) ASSERT_OK(again->step());
    ASSERT_TRUE(again->restart(second, 2));
    options.seed = 2;
    Result<Trainer> fresh = Trainer::create(model, options, second);
    ASSERT_OK(fresh);
    expect_same(*again, *fresh);
    while (!fresh->finished()) {
      ASSERT_OK(fresh->step());
      ASSERT_OK(again->step());
      expect_same(*again, *fresh);
    }
    EXPECT_TRUE(again->finished());
  }
}

TEST(TrainerRestart, HasTheBitsOfANewTrainer) {
  expect_begins_anew(small_cnn(), plain());
  expect_begins_anew(norm_and_dropout(), plain());
}

TEST(TrainerRestart, TakesMoreExamplesOrFewerWhereBatchesAreAsLarge) {
  expect_begins_anew(small_cnn(), plain(), kCount + 2 * 4);
  expect_begins_anew(small_cnn(), plain(), kCount - 2 * 4);
}

TEST(TrainerRestart, ForgetsWhatTheOptimizerKept) {
  TrainOptions options = plain();
  options.optimizer = {.learning_rate = 0.05f, .momentum = 0.9f};
  expect_begins_anew(small_cnn(), options);
  options.optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0.01f};
  expect_begins_anew(small_cnn(), options);
}

TEST(TrainerRestart, ForgetsScheduleScaleAndClipping) {
  TrainOptions options = plain();
  options.schedule = {.kind = ScheduleKind::plateau, .gamma = 0.5f, .patience = 1};
  options.optimizer.learning_rate = 5;  // losses rise, so that the rate falls
  options.clip_norm = 1;
  options.loss_scaling = {.start = 0x1p10f, .growth_steps = 2};
  expect_begins_anew(norm_and_dropout(), options);
}

TEST(TrainerRestart, KeepsWhatWasPreparedOfFrozenParameters) {
  TrainOptions options = plain();
  options.train_last = 1;
  options.proximal_mu = 0.1f;
  options.micro_batch_size = 2;
  expect_begins_anew(small_cnn(), options);
}

TEST(TrainerRestart, IsRefusedWhereTheTrainerWouldBeAnother) {
  Examples examples(kCount, kFeatures, 10), fewer(kCount - 1, kFeatures, 10), few(1, kFeatures, 10);
  Examples other(kCount, kFeatures, 10, 4);
  Result<Trainer> trainer = Trainer::create(small_cnn(), plain(), examples);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  EXPECT_FALSE(trainer->restart(fewer, 2));
  EXPECT_FALSE(trainer->restart(few, 2));
  EXPECT_EQ(trainer->summary().steps, 1u);

  TrainOptions stopping = plain();
  stopping.early_stopping = EarlyStopping{.validation_share = 0.25f, .patience = 1};
  trainer = Trainer::create(small_cnn(), stopping, examples);
  ASSERT_OK(trainer);
  EXPECT_FALSE(trainer->restart(other, 2));

  TrainOptions augmented = plain();
  augmented.augment = "flip";
  trainer = Trainer::create(small_cnn(), augmented, examples);
  ASSERT_OK(trainer);
  EXPECT_FALSE(trainer->restart(other, 2));
}

}  // namespace
}  // namespace coterie::test
