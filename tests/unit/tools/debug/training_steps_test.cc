#include "tools/debug/training_steps.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/debug/debugged_training.h"

namespace coterie::test {
namespace {

std::vector<float> trained_plainly(const Model& model, const TrainOptions& options, ExampleSource& source,
                                   uint64_t steps) {
  Result<Trainer> trainer = Trainer::create(model, options, source);
  EXPECT_OK(trainer);
  for (uint64_t i = 0; i < steps; ++i) EXPECT_OK(trainer->step());
  return {trainer->parameters().begin(), trainer->parameters().end()};
}

void expect_behind(const TrainingSteps& steps, const std::vector<float>& expected) {
  ASSERT_NE(steps.now(), nullptr);
  EXPECT_TRUE(std::ranges::equal(steps.now()->behind, expected));
  EXPECT_TRUE(std::ranges::equal(steps.trainer().parameters(), expected));
}

// Whatever the options make of a step: micro-batches, clipping, bf16, an epoch's smaller last batch.
TEST(TrainingSteps, ComputesTheBitsOfATrainingWithoutThem) {
  for (const Model& model : {small_cnn(), tangled_net()}) {
    std::vector<TrainOptions> all(5, debugged_options());
    all[1].micro_batch_size = 2;
    all[2].clip_norm = 0.1f;
    all[2].optimizer.kind = OptimizerKind::adamw;
    all[3].storage = Storage::bfloat16;
    all[4].threads = 2;
    for (const TrainOptions& options : all) {
      Examples source = examples_for(model);
      const auto steps = debugged(model, options, source);
      for (int i = 0; i < 11; ++i) ASSERT_OK(steps->forward());
      expect_behind(*steps, trained_plainly(model, options, source, 11));
      EXPECT_EQ(steps->now()->step, 10u);
      EXPECT_EQ(steps->before()->step, 9u);
      EXPECT_TRUE(std::ranges::equal(steps->before()->behind, steps->now()->before));
    }
  }
}

TEST(TrainingSteps, GoesBackToTheSameBits) {
  const Model model = small_cnn();
  const TrainOptions options = debugged_options();
  Examples source = examples_for(model);
  const auto steps = debugged(model, options, source);
  const uint64_t last = kDebugCheckpointSteps + 10;
  for (uint64_t i = 0; i <= last; ++i) ASSERT_OK(steps->forward());
  for (const uint64_t target : {last - 1, uint64_t{kDebugCheckpointSteps}, uint64_t{5}, uint64_t{0}}) {
    ASSERT_OK(steps->back(steps->now()->step - target, never()));
    ASSERT_EQ(steps->now()->step, target);
    expect_behind(*steps, trained_plainly(model, options, source, target + 1));
    if (target > 0) EXPECT_EQ(steps->before()->step, target - 1);
    ASSERT_OK(steps->forward());
    expect_behind(*steps, trained_plainly(model, options, source, target + 2));
  }
  ASSERT_OK(steps->back(1000, never()));
  EXPECT_EQ(steps->now(), nullptr) << "in front of the first";
  EXPECT_EQ(steps->next(), 0u);
}

TEST(TrainingSteps, ManyStepsKeepFewCheckpoints) {
  const Model model = load_or_die(make_model(ModelKind::logistic, {2, 2, 1}, 2, 5));
  TrainOptions options = debugged_options();
  options.epochs = 400;
  Examples source = examples_for(model);
  const auto steps = debugged(model, options, source);
  const uint64_t far = 2 * kDebugCheckpointsMax * kDebugCheckpointSteps - 100;
  options.steps_max = 0;
  while (!steps->now() || steps->now()->step < far) {
    if (!steps->next()) break;
    ASSERT_OK(steps->forward());
  }
  ASSERT_OK(steps->back(far - 100, never()));
  expect_behind(*steps, trained_plainly(model, options, source, steps->now()->step + 1));
}

TEST(TrainingSteps, BeginsAtACheckpointAndDoesNotGoBehindIt) {
  const Model model = small_cnn();
  const TrainOptions options = debugged_options();
  Examples source = examples_for(model);
  const TemporaryDirectory folder;
  Result<Trainer> trainer = Trainer::create(model, options, source);
  ASSERT_OK(trainer);
  for (int i = 0; i < 3; ++i) ASSERT_OK(trainer->step());
  ASSERT_OK(trainer->save_checkpoint(folder / "ck"));
  const Result<std::unique_ptr<TrainingSteps>> steps = TrainingSteps::create(model, options, source, folder / "ck");
  ASSERT_OK(steps);
  EXPECT_EQ((*steps)->next(), 3u);
  for (int i = 0; i < 2; ++i) ASSERT_OK((*steps)->forward());
  expect_behind(**steps, trained_plainly(model, options, source, 5));
  ASSERT_OK((*steps)->back(4, never()));
  EXPECT_EQ((*steps)->now(), nullptr);
  EXPECT_EQ((*steps)->next(), 3u);
}

TEST(TrainingSteps, AStepThatFailsIsRecordedAndMayBeLookedAtAgain) {
  const Model model = small_cnn();
  Examples source = examples_for(model);
  const auto steps = debugged(model, debugged_options(1e9f), source);
  while (steps->now() == nullptr || !steps->now()->has_failed()) ASSERT_OK(steps->forward());
  const uint64_t failed = steps->now()->step;
  EXPECT_THAT(steps->now()->error, ::testing::HasSubstr("not finite"));
  EXPECT_TRUE(steps->now()->behind.empty());
  EXPECT_FALSE(steps->now()->program.empty());
  EXPECT_EQ(steps->next(), failed);
  ASSERT_OK(steps->forward());
  EXPECT_EQ(steps->now()->step, failed) << "it fails again";
  ASSERT_OK(steps->back(1, never()));
  EXPECT_EQ(steps->now()->step, failed - 1);
  EXPECT_FALSE(steps->now()->has_failed());
}

TEST(TrainingSteps, ExamplesThatCannotBeReadAreAnError) {
  const Model model = small_cnn();
  Examples source = examples_for(model);
  const auto steps = debugged(model, debugged_options(), source);
  source.fail_at(3);
  Status gone;
  for (int i = 0; i < 5 && gone; ++i) gone = steps->forward();  // an epoch has each example once
  EXPECT_ERROR(gone, ErrorCode::unavailable, "the test's disk is gone");
  source.heal();
  for (uint64_t i = 0; i < source.size(); ++i) source.set_label(i, 99);
  EXPECT_ERROR(steps->forward(), ErrorCode::invalid_argument, "has a label outside [0, 10)");
}

TEST(TrainingSteps, GoingBackMayBeStopped) {
  const Model model = small_cnn();
  Examples source = examples_for(model);
  const auto steps = debugged(model, debugged_options(), source);
  for (int i = 0; i < 6; ++i) ASSERT_OK(steps->forward());
  int asked = 0;
  EXPECT_FALSE(steps->back(1, [&] { return ++asked == 3; }));
  EXPECT_EQ(steps->now(), nullptr);
  EXPECT_EQ(steps->next(), 0u) << "two steps on the way were run";
}

TEST(TrainingSteps, EndsWhereTheTrainingEnds) {
  const Model model = small_cnn();
  TrainOptions options = debugged_options();
  options.steps_max = 2;
  Examples source = examples_for(model);
  const auto steps = debugged(model, options, source);
  for (int i = 0; i < 2; ++i) ASSERT_OK(steps->forward());
  EXPECT_EQ(steps->next(), std::nullopt);
  EXPECT_FALSE(steps->forward());
  EXPECT_EQ(steps->now()->step, 1u);
}

TEST(StepRecorder, LeavesOutWhatDoesNotFit) {
  const Model model = small_cnn();
  Examples source = examples_for(model);
  TrainOptions options = debugged_options();
  options.joins_steps = false;
  Result<Trainer> trainer = Trainer::create(model, options, source);
  ASSERT_OK(trainer);
  const Result<std::vector<bool>> is_trained = trainable_tensors(model.graph(), options);
  ASSERT_OK(is_trained);
  const uint64_t parameters = model.value_count() * sizeof(float);
  StepRecorder recorder(model, *is_trained, parameters);
  const Result<std::optional<StepRecord>> record = recorder.step(*trainer);
  ASSERT_OK(record);
  ASSERT_TRUE(*record);
  EXPECT_GT((*record)->left_out, 0u);
  uint64_t bytes = 0;
  for (const Bytes& block : (*record)->blocks) bytes += block.size();
  EXPECT_LE(bytes, parameters);
}

}  // namespace
}  // namespace coterie::test
