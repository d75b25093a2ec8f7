#include "device_sdk/runtime/memory_budget.h"

#include <gmock/gmock.h>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

TrainOptions with_micro_batch(uint32_t size) {
  TrainOptions options;
  options.batch_size = 12;
  options.clip_norm = 1;  // keeps the gradients whatever the micro-batch, so that a smaller one always needs less
  options.micro_batch_size = size;
  return options;
}

uint64_t bytes_of(const Model& model, uint32_t micro_batch, uint64_t examples = 100) {
  const Result<TrainingMemory> memory = Trainer::plan(model, with_micro_batch(micro_batch), examples);
  EXPECT_OK(memory);
  return memory->bytes();
}

TEST(TrainerPlan, IsWhatTheTrainerTakes) {
  const Model model = small_cnn();
  Examples examples(50, 64, 10);
  for (const uint32_t micro_batch : {0u, 4u}) {
    TrainOptions options = with_micro_batch(micro_batch);
    options.optimizer.kind = OptimizerKind::adam;
    const Result<TrainingMemory> plan = Trainer::plan(model, options, examples.size());
    const Result<Trainer> trainer = Trainer::create(model, options, examples);
    ASSERT_OK(plan);
    ASSERT_OK(trainer);
    EXPECT_EQ(plan->arena_bytes, trainer->memory().arena_bytes);
    EXPECT_EQ(plan->optimizer_bytes, trainer->memory().optimizer_bytes);
    EXPECT_EQ(plan->planned_lower_bound, trainer->memory().planned_lower_bound);
    EXPECT_EQ(plan->order_bytes, 200u);
  }
}

// Nothing of it is worth computing again, so that only the micro-batch is left to choose.
Model one_layer() {
  ModelBuilder build("one", {64}, 3);
  return load_or_die(build.finish(build.dense(build.input(), 10)));
}

TEST(FitTrainingWithin, TakesTheLargestMicroBatchThatFits) {
  const Model model = one_layer();
  const TrainOptions options = with_micro_batch(0);
  for (const uint32_t size : {1u, 2u, 3u, 4u, 6u, 12u}) {
    EXPECT_EQ(fit_training_within(model, options, 100, bytes_of(model, size))->micro_batch_size, size);
  }
  EXPECT_EQ(fit_training_within(model, options, 100, bytes_of(model, 4) - 1)->micro_batch_size, 3u);
  EXPECT_EQ(fit_training_within(model, options, 100, 1ull << 40)->micro_batch_size, 12u);
  EXPECT_EQ(fit_training_within(model, options, 100, 1ull << 40)->planned_bytes_max, 0u);
}

// A ladder of wide maps that are cheap to make again.
Model cheap_maps(bool has_norm) {
  ModelBuilder build("cheap", {32, 32, 4}, 3);
  TensorId x = build.conv2d(build.input(), {.filters = 4, .kernel = 3, .pad = 1});
  for (int i = 0; i < 4; ++i) {
    x = has_norm ? build.batch_norm(x) : build.op(OpKind::tanh, {x});
    x = build.op(OpKind::swish, {x});
  }
  return load_or_die(build.finish(build.dense(build.flatten(x), 10)));
}

uint64_t needed_by(const Model& model, TrainOptions options, const MemoryFit& fit) {
  options.micro_batch_size = fit.micro_batch_size;
  options.planned_bytes_max = fit.planned_bytes_max;
  const Result<TrainingMemory> memory = Trainer::plan(model, options, 100);
  EXPECT_OK(memory);
  EXPECT_EQ(memory->recomputed_steps, fit.recomputed_steps);
  return memory->bytes();
}

// What looks at examples that are held out is memory of the training, too.
TEST(FitTrainingWithin, CountsWhatLooksAtHeldOutExamples) {
  const Model model = cheap_maps(false);
  TrainOptions options = with_micro_batch(0);
  options.early_stopping = EarlyStopping{.validation_share = 0.25f, .patience = 2};
  const Result<TrainingMemory> whole = Trainer::plan(model, options, 100);
  ASSERT_OK(whole);
  EXPECT_GT(whole->validation_bytes, 0u);
  const uint64_t budget = whole->bytes() * 8 / 10;
  const Result<MemoryFit> fit = fit_training_within(model, options, 100, budget);
  ASSERT_OK(fit);
  EXPECT_LE(needed_by(model, options, *fit), budget);
}

TEST(FitTrainingWithin, ComputesAgainRatherThanSplittingABatchThatIsNormed) {
  const Model model = cheap_maps(true);
  const TrainOptions options = with_micro_batch(0);
  const uint64_t budget = bytes_of(model, 12) * 6 / 10;
  const Result<MemoryFit> fit = fit_training_within(model, options, 100, budget);
  ASSERT_OK(fit);
  EXPECT_EQ(fit->micro_batch_size, 12u);
  EXPECT_GT(fit->recomputed_steps, 0u);
  EXPECT_LE(needed_by(model, options, *fit), budget);
}

TEST(FitTrainingWithin, TakesWhatIsCheaper) {
  const Model model = cheap_maps(false);
  const TrainOptions options = with_micro_batch(0);
  for (const uint64_t percent : {95u, 60u, 40u}) {
    SCOPED_TRACE(percent);
    const uint64_t budget = bytes_of(model, 12) * percent / 100;
    const Result<MemoryFit> fit = fit_training_within(model, options, 100, budget);
    ASSERT_OK(fit);
    EXPECT_LE(needed_by(model, options, *fit), budget);
    EXPECT_LT(fit->recomputed_share, 0.2);  // a micro-batch of one, which always fits, costs 0.15
  }
}

TEST(FitTrainingWithin, KeepsToTheMicroBatchThatItIsTold) {
  const Model model = cheap_maps(false);
  const uint64_t budget = bytes_of(model, 4) * 8 / 10;
  const Result<MemoryFit> fit = fit_training_within(model, with_micro_batch(4), 100, budget);
  ASSERT_OK(fit);
  EXPECT_EQ(fit->micro_batch_size, 4u);
  EXPECT_GT(fit->recomputed_steps, 0u);
}

TEST(FitTrainingWithin, SaysTheLeastThatWouldDo) {
  for (const Model& model : {one_layer(), cheap_maps(true)}) {
    TrainOptions options = with_micro_batch(0);
    options.batch_size = 4;
    const Result<MemoryFit> none = fit_training_within(model, options, 100, 1000);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code(), ErrorCode::too_large);
    const std::string message = none.error().message();
    EXPECT_THAT(message, HasSubstr("1000 bytes are too few; with these options it needs at least "));
    const uint64_t least = std::stoull(message.substr(message.rfind(' ')));
    const Result<MemoryFit> fit = fit_training_within(model, options, 100, least);
    ASSERT_OK(fit);
    EXPECT_LE(needed_by(model, options, *fit), least);
  }
}

TEST(FitTrainingWithin, PassesOnWhatIsWrongWithTheOptions) {
  TrainOptions options = with_micro_batch(0);
  options.freeze = {"no such"};
  const Result<MemoryFit> found = fit_training_within(small_cnn(), options, 100, 1 << 30);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), HasSubstr("no such"));
}

}  // namespace
}  // namespace coterie::test
