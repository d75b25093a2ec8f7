#include "tools/watch/first_non_finite.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "device_sdk/runtime/loss_heads.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/messages/model_outputs.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#include "tools/watch/replay.h"

namespace coterie::test {
namespace {

constexpr uint64_t kExamples = 20;
constexpr size_t kFeatures = 6;
constexpr uint32_t kClasses = 3, kBatch = 4;

TrainOptions options_with(float learning_rate) {
  TrainOptions options{.batch_size = kBatch, .epochs = 3, .seed = 7};
  options.optimizer.learning_rate = learning_rate;
  options.joins_steps = false;
  return options;
}

Examples examples() { return Examples(kExamples, kFeatures, kClasses); }

// dense -> `kind` -> dense: what goes wrong between the two has a row for each example.
Model net_with(OpKind kind) {
  ModelBuilder build("net", {kFeatures}, 3);
  std::vector<float> identity(kFeatures * kFeatures);
  for (size_t i = 0; i < kFeatures; ++i) identity[i * kFeatures + i] = 1;
  const TensorId weight = build.parameter("first.weight", {kFeatures, kFeatures}, identity);
  const TensorId x = build.op(OpKind::dense, {build.input(), weight}, {}, "first");
  return load_or_die(build.finish(build.dense(build.op(kind, {x}, {}, "suspect"), kClasses)));
}

Replay replay_of(const Model& model, const TrainOptions& options, ExampleSource& source) {
  Result<Trainer> trainer = Trainer::create(model, options, source);
  EXPECT_OK(trainer);
  Result<Replay> replay = replay_to_non_finite(model, options, source, *trainer, [] { return false; });
  EXPECT_OK(replay);
  return std::move(*replay);
}

const SeenTensor* tensor_of(const NonFinite& found, bool is_made) {
  for (const SeenTensor& tensor : found.tensors) {
    if (tensor.is_made == is_made) return &tensor;
  }
  return nullptr;
}

void expect_read_was_finite(const NonFinite& found) {
  bool made_one = false;
  for (const SeenTensor& tensor : found.tensors) {
    EXPECT_TRUE(tensor.is_made || tensor.statistics.is_finite()) << tensor.what;
    made_one = made_one || (tensor.is_made && !tensor.statistics.is_finite());
  }
  EXPECT_TRUE(made_one);
}

TEST(FirstNonFinite, HealthyTrainingHasNoneAndKeepsItsBits) {
  for (const Model& model : {small_cnn(), load_or_die(make_model(ModelKind::lenet5, {28, 28, 1}, 10, 1))}) {
    Examples source(12, elements(model.input_shape()), 10);
    TrainOptions options = options_with(0.05f);
    Result<Trainer> watched = Trainer::create(model, options, source);
    ASSERT_OK(watched);
    FirstNonFinite finder(model);
    while (!watched->finished()) {
      const Status stepped = watched->step(&finder);
      ASSERT_OK(stepped);
    }
    EXPECT_FALSE(finder.found());
    options.joins_steps = true;
    Result<Trainer> plain = Trainer::create(model, options, source);
    ASSERT_OK(plain);
    while (!plain->finished()) {
      const Status stepped = plain->step();
      ASSERT_OK(stepped);
    }
    EXPECT_TRUE(std::ranges::equal(watched->parameters(), plain->parameters()));
    EXPECT_EQ(watched->summary(), plain->summary());
  }
}

TEST(FirstNonFinite, NamesTheOpTheExampleAndItsRanges) {
  const Model model = net_with(OpKind::exp);
  Examples source = examples();
  source.set_feature(13, 2, 1000);  // exp(1000) is infinite in float32
  const Replay replay = replay_of(model, options_with(1e-6f), source);
  ASSERT_TRUE(replay.found);
  const NonFinite& found = *replay.found;
  EXPECT_EQ(found.cause, NonFiniteCause::op);
  EXPECT_EQ(found.op, "suspect");
  EXPECT_EQ(found.op_kind, "exp");
  EXPECT_EQ(found.phase, Phase::forward);
  EXPECT_EQ(found.example, 13u);
  EXPECT_TRUE(found.is_example_exact);
  EXPECT_LT(found.step, 5u) << "each example comes once an epoch";
  EXPECT_THAT(found.examples, ::testing::Contains(13u));
  expect_read_was_finite(found);
  EXPECT_NEAR(tensor_of(found, false)->statistics.max, 1000, 1);
  EXPECT_EQ(tensor_of(found, true)->statistics.positive_infinite, 1u);
}

// A convolution may read its weight as another step has arranged it; here the weight is what is far too large.
TEST(FirstNonFinite, NamesAConvolutionsWeight) {
  ModelBuilder build("net", {8, 8, 16}, 3);
  const TensorId weight = build.parameter("wide.weight", {3, 3, 16, 32}, std::vector<float>(9 * 16 * 32, 1e25f));
  const TensorId x = build.op(OpKind::conv2d, {build.input(), weight},
                              Conv2dAttributes{.pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1}, "wide");
  const Model model = load_or_die(build.finish(build.dense(build.flatten(x), kClasses)));
  Examples source(kBatch, 8 * 8 * 16, kClasses);
  for (size_t feature = 0; feature < 8 * 8 * 16; ++feature) source.set_feature(2, feature, 1e20f);
  const Replay replay = replay_of(model, options_with(1e-6f), source);
  ASSERT_TRUE(replay.found);
  EXPECT_EQ(replay.found->op, "wide");
  EXPECT_EQ(replay.found->example, 2u);
  const auto read = std::ranges::find(replay.found->tensors, "wide.weight", &SeenTensor::what);
  ASSERT_NE(read, replay.found->tensors.end());
  EXPECT_FALSE(read->is_made);
  EXPECT_EQ(read->shape, "3x3x16x32");
  EXPECT_FLOAT_EQ(static_cast<float>(read->statistics.max), 1e25f);
  EXPECT_TRUE(std::ranges::is_sorted(replay.found->tensors, {}, &SeenTensor::is_made)) << "what was read comes first";
}

TEST(FirstNonFinite, NamesTheBackwardOfWhatForwardStands) {
  const Model model = net_with(OpKind::sqrt);
  Examples source = examples();
  for (uint64_t i = 0; i < kExamples; ++i) {
    for (size_t feature = 0; feature < kFeatures; ++feature) source.set_feature(i, feature, 1);
  }
  for (size_t feature = 0; feature < kFeatures; ++feature) source.set_feature(9, feature, 0);  // a slope of infinity
  const Replay replay = replay_of(model, options_with(1e-6f), source);
  ASSERT_TRUE(replay.found);
  EXPECT_EQ(replay.found->op, "suspect");
  EXPECT_EQ(replay.found->phase, Phase::backward);
  EXPECT_EQ(replay.found->example, 9u);
  EXPECT_TRUE(replay.found->is_example_exact);
}

TEST(FirstNonFinite, NamesTheUpdateAndTheLayer) {
  const Model model = net_with(OpKind::relu);
  Examples source = examples();
  for (uint64_t i = 0; i < kExamples; ++i) source.set_feature(i, 0, 1000);
  const Replay replay = replay_of(model, options_with(3e38f), source);
  ASSERT_TRUE(replay.found);
  EXPECT_EQ(replay.found->cause, NonFiniteCause::op);
  EXPECT_EQ(replay.found->op, "update");
  EXPECT_THAT(replay.found->layer, ::testing::AnyOf("dense1", "first"));
  EXPECT_EQ(replay.found->step, 0u);
}

TEST(FirstNonFinite, NamesTheUpdateWhereGradientsAreAddedUp) {
  const Model model = net_with(OpKind::relu);
  Examples source = examples();
  for (uint64_t i = 0; i < kExamples; ++i) source.set_feature(i, 0, 1000);
  TrainOptions options = options_with(3e38f);
  options.micro_batch_size = 2;
  const Replay replay = replay_of(model, options, source);
  ASSERT_TRUE(replay.found);
  EXPECT_EQ(replay.found->op, "update");
  EXPECT_EQ(replay.found->phase, Phase::update);
}

TEST(FirstNonFinite, SaysThatTheDataHaveIt) {
  const Model model = net_with(OpKind::relu);
  Examples source = examples();
  source.set_feature(4, 1, std::numeric_limits<float>::quiet_NaN());
  const Replay replay = replay_of(model, options_with(1e-3f), source);
  ASSERT_TRUE(replay.found);
  EXPECT_EQ(replay.found->cause, NonFiniteCause::data);
  EXPECT_EQ(replay.found->example, 4u);
  EXPECT_TRUE(replay.found->is_example_exact);
  EXPECT_EQ(replay.found->op, "first");
}

TEST(FirstNonFinite, SaysThatACheckpointHasIt) {
  const Model model = net_with(OpKind::relu);
  Examples source = examples();
  for (uint64_t i = 0; i < kExamples; ++i) source.set_feature(i, 0, 1000);
  const TrainOptions options = options_with(3e38f);
  const TemporaryDirectory folder;
  const std::string path = folder.path() + "/checkpoint";
  Result<Trainer> trainer = Trainer::create(model, options, source);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());  // its update overflows, its loss did not
  ASSERT_OK(trainer->save_checkpoint(path));
  Result<Trainer> restored = Trainer::create(model, options, source);
  ASSERT_OK(restored);
  ASSERT_OK(restored->restore_checkpoint(path));
  const Result<Replay> replay = replay_to_non_finite(model, options, source, *restored, [] { return false; });
  ASSERT_OK(replay);
  ASSERT_TRUE(replay->found);
  EXPECT_EQ(replay->found->cause, NonFiniteCause::state);
  EXPECT_EQ(replay->found->step, 1u);
}

// A target's square is infinite in float32, its slope is not: no tensor says which example it was.
class ValuesWithALargeOne final : public Examples {
 public:
  ValuesWithALargeOne() : Examples(kExamples, kFeatures, kClasses) {}
  Status read(uint64_t index, const Example& to) override {
    for (size_t i = 0; i < kFeatures; ++i) to.features()[i] = values()[index * kFeatures + i];
    for (float& target : to.targets()) target = 1;
    if (index == 11) to.targets().back() = 1e25f;
    return {};
  }
};

void expect_loss_of_eleven(const Model& model, const LossSettings& loss) {
  ValuesWithALargeOne source;
  TrainOptions options = options_with(1e-30f);
  options.loss = loss;
  const Replay replay = replay_of(model, options, source);
  ASSERT_TRUE(replay.found);
  EXPECT_EQ(replay.found->op, "loss");
  EXPECT_EQ(replay.found->example, 11u);
  EXPECT_TRUE(replay.found->is_example_exact);
  ASSERT_TRUE(replay.found->loss_sum);
  EXPECT_FALSE(std::isfinite(*replay.found->loss_sum));
}

TEST(FirstNonFinite, NamesTheLossAndItsExample) {
  expect_loss_of_eleven(net_with(OpKind::relu), {.kind = Loss::mean_squared_error, .target = TargetKind::values});
}

// The second of two: each has sums of its own.
TEST(FirstNonFinite, NamesTheLossOfAHead) {
  ModelBuilder build("heads", {kFeatures}, 3);
  const TensorId x = build.dense(build.input(), kFeatures), y = build.dense(x, kClasses), z = build.dense(x, kClasses);
  const Model model = load_or_die(build.finish(y, std::vector{z}));
  LossSettings loss{.target = TargetKind::values};
  std::vector<TrainingHead> heads;
  const std::vector<uint32_t> outputs = *graph_outputs(model.graph());
  for (const uint32_t output : outputs) {
    heads.push_back({model.graph().tensors[output].name, Loss::mean_squared_error, 1});
  }
  set_heads(loss, std::move(heads));
  expect_loss_of_eleven(model, loss);
}

TEST(FirstNonFinite, StopsWhenAsked) {
  const Model model = net_with(OpKind::relu);
  Examples source = examples();
  const TrainOptions options = options_with(1e-3f);
  Result<Trainer> trainer = Trainer::create(model, options, source);
  ASSERT_OK(trainer);
  const Result<Replay> replay = replay_to_non_finite(model, options, source, *trainer, [] { return true; });
  ASSERT_FALSE(replay);
  EXPECT_EQ(replay.error().code(), ErrorCode::cancelled);
}

// What loss scaling skips is no fault of the training.
TEST(FirstNonFinite, LeavesStepsThatLossScalingSkips) {
  const Model model = net_with(OpKind::relu);
  Examples source = examples();
  for (uint64_t i = 0; i < kExamples; ++i) source.set_feature(i, 0, 1e34f);
  TrainOptions options = options_with(1e-38f);
  options.loss_scaling = parse_loss_scaling("dynamic").value();
  const Replay replay = replay_of(model, options, source);
  EXPECT_GT(replay.skipped, 0u);
  EXPECT_FALSE(replay.found);
  EXPECT_EQ(replay.steps, 15u);
}

}  // namespace
}  // namespace coterie::test
