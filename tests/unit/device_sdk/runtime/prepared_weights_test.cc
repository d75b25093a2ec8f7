// Weights as the kernels read them: prepared once where they never change, and in each step where they are trained or
// memory is scarce, to the same bits.
#include <gtest/gtest.h>

#include "device_sdk/runtime/memory_budget.h"
#include "device_sdk/runtime/predictor.h"
#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

// Every way to read weights: Winograd, direct with and without many rows, a stride, groups, depthwise, 1 x 1, dense.
Model net(uint32_t size, std::string_view trained) {
  ModelBuilder build("weights", {size, size, 3}, 1);
  TensorId x = build.relu(build.conv2d(build.input(), {.filters = 24, .kernel = 3, .pad = 1}));
  x = build.relu(build.conv2d(x, {.filters = 20, .kernel = 3, .pad = 1}));
  x = build.relu(build.conv2d(x, {.filters = 80, .kernel = 5, .pad = 2}));
  x = build.relu(build.conv2d(x, {.filters = 80, .kernel = 3, .pad = 1, .groups = 2}));
  x = build.relu(build.conv2d(x, {.filters = 80, .kernel = 3, .pad = 1, .groups = 80}));
  x = build.relu(build.conv2d(x, {.filters = 100, .kernel = 1}));
  x = build.relu(build.conv2d(x, {.filters = 32, .kernel = 3, .stride = 2, .pad = 1}));
  x = build.relu(build.dense(build.flatten(x), 70));
  const Model model = load_or_die(build.finish(build.dense(x, 3)));
  return load_or_die(forged(model, [&](ModelGraph& graph) {
    for (TensorInfo& tensor : graph.tensors) {
      tensor.is_frozen = tensor.role == TensorRole::parameter && !tensor.name.starts_with(trained);
    }
  }));
}

CompiledModel compiled(const Model& model, Purpose purpose, uint64_t planned_bytes_max = 0) {
  Result<CompiledModel> made = compile(model, {.purpose = purpose,
                                               .batch_size = 2,
                                               .arena_bytes_max = limits::kArenaBytesMax,
                                               .planned_bytes_max = planned_bytes_max});
  EXPECT_OK(made);
  return std::move(*made);
}

TEST(PreparedWeights, OfWhatIsNotTrainedAreNoStepOfATraining) {
  const CompiledModel trained = compiled(net(12, ""), Purpose::train);
  EXPECT_EQ(trained.program.step_count(Phase::prepare), 0u);
  EXPECT_EQ(trained.layout.of(Region::prepared), 0u);
  // The first layer's gradient passes all others, whose weights never change: five are prepared for forward, three for
  // dX, which few rows read otherwise.
  const CompiledModel frozen = compiled(net(12, "conv1"), Purpose::train);
  const size_t once = frozen.program.step_count(Phase::prepare);
  EXPECT_EQ(once, 8u);
  EXPECT_GT(frozen.layout.of(Region::prepared), 0u);
  // With little memory they are steps of the training again.
  const CompiledModel frugal = compiled(net(12, "conv1"), Purpose::train, UINT64_MAX);
  EXPECT_EQ(frugal.program.step_count(Phase::prepare), 0u);
  EXPECT_EQ(frugal.program.step_count(), frozen.program.step_count());
  EXPECT_LT(frugal.layout.bytes(), frozen.layout.bytes());
}

TEST(PreparedWeights, PredictionPreparesOnce) {
  const CompiledModel predicting = compiled(net(12, ""), Purpose::predict);
  EXPECT_GE(predicting.program.step_count(Phase::prepare), 5u);
  EXPECT_LE(predicting.program.step_count(Phase::forward), 17u);  // of 9 layers, 7 ReLUs and flatten
}

std::vector<float> delta_of(const Model& model, TrainOptions options) {
  options.optimizer = {.learning_rate = 0.05f, .momentum = 0.9f};
  options.epochs = 2;
  Batch examples(model, 5);
  Result<Trainer> trainer = Trainer::create(model, options, examples);
  EXPECT_OK(trainer);
  while (!trainer->finished()) EXPECT_OK(trainer->step());
  std::vector<float> delta(model.value_count());
  trainer->delta(delta);
  return delta;
}

TEST(PreparedWeights, TrainTheSameBitsWithAnyThreadsAndMemory) {
  for (const uint32_t size : {7u, 13u}) {  // few rows and many
    for (const std::string_view trained : {"", "conv1", "dense"}) {
      SCOPED_TRACE(std::to_string(size) + " " + std::string(trained));
      const Model model = net(size, trained);
      for (const uint32_t batch : {1u, 3u}) {
        const std::vector<float> expected = delta_of(model, {.batch_size = batch});
        EXPECT_NE(expected, std::vector<float>(expected.size()));
        EXPECT_EQ(delta_of(model, {.batch_size = batch, .threads = 3, .part_nanoseconds_min = 0}), expected);
        EXPECT_EQ(delta_of(model, {.batch_size = batch, .planned_bytes_max = uint64_t{1} << 40}), expected);
      }
    }
  }
}

TEST(PreparedWeights, AreGivenUpWhereTheyDoNotFit) {
  const Model model = net(12, "conv1");
  const TrainOptions options{.batch_size = 2};
  const TrainingMemory plain = *Trainer::plan(model, options, 5);
  ASSERT_GT(plain.prepared_bytes, 0u);
  const Result<MemoryFit> fit = fit_training_within(model, options, 5, plain.arena_bytes + plain.order_bytes - 1);
  ASSERT_OK(fit);
  TrainOptions fitted = options;
  fitted.planned_bytes_max = fit->planned_bytes_max;
  fitted.micro_batch_size = fit->micro_batch_size;
  const TrainingMemory memory = *Trainer::plan(model, fitted, 5);
  EXPECT_EQ(memory.prepared_bytes, 0u);
  EXPECT_EQ(fit->recomputed_steps, 0u);
  EXPECT_EQ(fit->micro_batch_size, 2u);
}

}  // namespace
}  // namespace coterie::test
