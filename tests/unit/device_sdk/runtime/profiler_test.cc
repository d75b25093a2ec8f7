#include "device_sdk/runtime/profiler.h"

#include <gmock/gmock.h>

#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

// One second passes with each look, so that an op's time is the number of its steps.
double seconds_now() {
  static double now = 0;
  return now += 1;
}

const OpTime* find(const TrainingProfile& profile, const std::string& kind) {
  for (const OpTime& op : profile.ops) {
    if (op.kind == kind) return &op;
  }
  return nullptr;
}

Model two_layers() {
  ModelBuilder build("two", {6}, 1);
  const TensorId hidden = build.relu(build.dense(build.input(), 5));
  return load_or_die(build.finish(build.dense(hidden, 3)));
}

TEST(Profiler, ChargesEveryStepToItsOp) {
  TrainOptions options;
  options.batch_size = 4;
  const Result<TrainingProfile> profile = profile_training(two_layers(), options, 3, &seconds_now);
  ASSERT_OK(profile);
  double sum = 0;
  for (const OpTime& op : profile->ops) sum += op.forward_seconds + op.backward_seconds;
  EXPECT_EQ(sum, profile->step_seconds);
  const OpTime* dense = find(*profile, "dense");
  ASSERT_NE(dense, nullptr);
  EXPECT_GT(dense->forward_seconds, 0);
  EXPECT_GT(dense->backward_seconds, 0);
  EXPECT_GE(dense->forward_flops, 2.0 * 4 * 6 * 5);
  ASSERT_NE(find(*profile, "loss"), nullptr);
  EXPECT_EQ(find(*profile, "loss")->forward_seconds, 1);
  EXPECT_EQ(find(*profile, "update")->backward_seconds, 4);  // two weights, two biases
  EXPECT_GT(profile->memory.arena_bytes, 0u);
}

TEST(Profiler, ShowsThatFrozenLayersCostNothing) {
  TrainOptions options;
  options.batch_size = 4;
  const Model model = two_layers();
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.role == TensorRole::parameter && options.freeze.size() < 2) options.freeze.push_back(tensor.name);
  }
  const Result<TrainingProfile> profile = profile_training(model, options, 1, &seconds_now);
  ASSERT_OK(profile);
  EXPECT_EQ(profile->ops.front().backward_seconds, 0);
  EXPECT_EQ(find(*profile, "update")->backward_seconds, 2);
}

TEST(Profiler, NamesTheAlgorithmOfEachConvolution) {
  ModelBuilder build("convolutions", {16, 16, 3}, 1);
  const TensorId first = build.conv2d(build.input(), {.filters = 32, .kernel = 3, .pad = 1});
  const TensorId second = build.conv2d(first, {.filters = 32, .kernel = 3, .pad = 1});
  const Model model = load_or_die(build.finish(build.dense(build.flatten(second), 3)));
  TrainOptions options;
  options.batch_size = 2;
  const Result<TrainingProfile> profile = profile_training(model, options, 1, &seconds_now);
  ASSERT_OK(profile);
  EXPECT_EQ(profile->ops[0].algorithm, "direct");
  EXPECT_EQ(profile->ops[1].algorithm, "winograd 4x4");
  EXPECT_EQ(find(*profile, "dense")->algorithm, "");
}

// The program that is measured is the one that a training with this storage runs.
TEST(Profiler, HoldsActivationsAsTheTrainingDoes) {
  ModelBuilder build("deep", {256}, 1);
  TensorId x = build.input();
  for (int layer = 0; layer < 4; ++layer) x = build.relu(build.dense(x, 256));
  const Model model = load_or_die(build.finish(build.dense(x, 3)));
  const auto narrow_operands = [&](Storage storage) {
    TrainOptions options;
    options.batch_size = 64;
    options.storage = storage;
    const Result<TrainingProfile> profile = profile_training(model, options, 1, &seconds_now);
    EXPECT_OK(profile);
    size_t count = 0;
    for (const StepInfo& step : profile->steps) {
      for (const auto& operand : step.operands) count += operand.content.type == ElementType::bfloat16;
    }
    EXPECT_EQ(count > 0, profile->memory.narrowed_tensors > 0);
    return count;
  };
  EXPECT_EQ(narrow_operands(Storage::float32), 0u);
  EXPECT_GT(narrow_operands(Storage::bfloat16), 0u);
}

TEST(Profiler, TakesEveryLossAndKindOfTarget) {
  for (const Loss loss : {Loss::softmax_cross_entropy, Loss::mean_squared_error, Loss::binary_cross_entropy}) {
    TrainOptions options;
    options.loss.kind = loss;
    options.batch_size = 2;
    EXPECT_OK(profile_training(two_layers(), options, 1, &seconds_now)) << to_string(loss);
  }
  TrainOptions options;
  options.loss = {.kind = Loss::huber, .target = TargetKind::values};
  EXPECT_OK(profile_training(two_layers(), options, 1, &seconds_now));
}

}  // namespace
}  // namespace coterie::test
