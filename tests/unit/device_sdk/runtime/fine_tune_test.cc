// What TrainOptions adds to a plain run: frozen parameters, groups, virtual batches, clipping, optimizers, losses.
#include <gtest/gtest.h>

#include <cmath>

#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

TrainOptions plain(uint32_t batch = 8) {
  TrainOptions options;
  options.batch_size = batch;
  options.optimizer.learning_rate = 0.1f;
  options.seed = 5;
  return options;
}

std::vector<float> delta_after(const Model& model, const TrainOptions& options, Examples& examples, int steps = 1) {
  Result<Trainer> trainer = Trainer::create(model, options, examples);
  EXPECT_OK(trainer);
  if (!trainer) return {};
  for (int i = 0; i < steps; ++i) EXPECT_OK(trainer->step());
  std::vector<float> delta(model.value_count());
  trainer->delta(delta);
  return delta;
}

// The largest change of each parameter tensor, by name.
std::map<std::string, float> change_of(const Model& model, const std::vector<float>& delta) {
  std::map<std::string, float> changes;
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (!has_payload(tensor.role)) continue;
    float& change = changes[tensor.name];
    const size_t first = tensor.payload_offset / sizeof(float);
    for (size_t i = 0; i < *element_count(tensor.shape); ++i) change = std::max(change, std::fabs(delta[first + i]));
  }
  return changes;
}

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(Freeze, LeavesTheNamedParametersAloneAndTrainsTheOthersAsBefore) {
  const Model model = small_cnn();
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  const std::vector<float> all = delta_after(model, options, examples);
  options.freeze = {"conv*"};
  const std::vector<float> tail = delta_after(model, options, examples);
  const auto before = change_of(model, all), after = change_of(model, tail);
  EXPECT_EQ(after.at("conv1.weight"), 0);
  EXPECT_EQ(after.at("conv2.bias"), 0);
  EXPECT_EQ(after.at("dense1.weight"), before.at("dense1.weight"));
  EXPECT_EQ(after.at("dense2.bias"), before.at("dense2.bias"));
  EXPECT_GT(before.at("conv1.weight"), 0);
}

TEST(Freeze, CostsNoMemoryForGradientsNobodyNeeds) {
  const Model model = small_cnn();
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  const Result<Trainer> all = Trainer::create(model, options, examples);
  options.train_only = {"dense2.*"};
  const Result<Trainer> last = Trainer::create(model, options, examples);
  EXPECT_LT(last->memory().planned_bytes, all->memory().planned_bytes);
}

TEST(TrainLast, TrainsTheLayersBehindAndNoOthers) {
  const Model model = small_cnn();  // conv1, conv2, dense1, dense2
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  options.train_last = 2;
  const auto changes = change_of(model, delta_after(model, options, examples));
  for (const auto& [name, change] : changes) EXPECT_EQ(change > 0, name.starts_with("dense")) << name;
  options.freeze = {"*.bias"};
  EXPECT_EQ(change_of(model, delta_after(model, options, examples)).at("dense2.bias"), 0);
  options.freeze = {};
  options.train_last = 4;
  EXPECT_GT(change_of(model, delta_after(model, options, examples)).at("conv1.weight"), 0);
  options.train_last = 5;
  EXPECT_ERROR(Trainer::plan(model, options, 8), ErrorCode::invalid_argument,
               "train_last is 5, the model has 4 layers with parameters");
  options.train_last = 1;
  options.train_only = {"conv1.*"};
  EXPECT_ERROR(Trainer::plan(model, options, 8), ErrorCode::invalid_argument, "exclude each other");
}

TEST(ParseGroup, ReadsFactorAndDecay) {
  EXPECT_EQ(*parse_group("features.*:lr=0.1"), (ParameterGroup{"features.*", 0.1f, 0}));
  EXPECT_EQ(*parse_group("*.bias:lr=2,decay=0.5"), (ParameterGroup{"*.bias", 2, 0.5f}));
  EXPECT_EQ(*parse_group("a:b:decay=0.5"), (ParameterGroup{"a:b", 1, 0.5f}));
  for (const char* text :
       {"", "a", "a:", ":lr=1", "a:lr", "a:lr=", "a:lr=x", "a:rate=1", "a:lr=1,", "a:lr=-1", "a:lr=inf"}) {
    EXPECT_ERROR(parse_group(text), ErrorCode::invalid_argument, "a group must be PATTERN:lr=X,decay=Y") << text;
  }
}

TEST(Freeze, OfEverythingButABiasTrainsTheBias) {
  const Model model = small_cnn();
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  const auto all = change_of(model, delta_after(model, options, examples));
  options.train_only = {"conv1.bias"};
  const auto bias = change_of(model, delta_after(model, options, examples));
  for (const auto& [name, change] : bias) EXPECT_EQ(change, name == "conv1.bias" ? all.at(name) : 0) << name;
}

TEST(Freeze, SaysWhichPatternMatchesNothing) {
  const Model model = small_cnn();
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  options.freeze = {"conv*", "features.*"};
  EXPECT_ERROR(Trainer::create(model, options, examples), ErrorCode::invalid_argument, "freeze features.* matches no");
  options.freeze = {"*"};
  EXPECT_ERROR(Trainer::create(model, options, examples), ErrorCode::invalid_argument, "nothing is left to train");
}

TEST(Groups, ScaleTheirLearningRate) {
  const Model model = small_cnn();
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  const auto before = change_of(model, delta_after(model, options, examples));
  options.groups = {{"*.bias", 0.5f, 0}};
  const auto after = change_of(model, delta_after(model, options, examples));
  EXPECT_EQ(after.at("dense1.weight"), before.at("dense1.weight"));
  EXPECT_NEAR(after.at("dense1.bias"), before.at("dense1.bias") / 2, 1e-6);
}

TEST(VirtualBatch, TakesTheStepOfTheWholeBatch) {
  const Model model = small_cnn();
  Examples examples(20, 64, 10);  // batches of 8, 8 and 4: the last is one micro-batch of 4
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw}) {
    TrainOptions options = plain(8);
    options.optimizer.kind = kind;
    options.optimizer.learning_rate = kind == OptimizerKind::sgd ? 0.1f : 0.001f;
    const std::vector<float> whole = delta_after(model, options, examples, 3);
    for (const uint32_t micro : {4u, 2u, 1u}) {
      options.micro_batch_size = micro;
      expect_near(delta_after(model, options, examples, 3), whole, kind == OptimizerKind::sgd ? 2e-6f : 2e-4f);
    }
  }
}

TEST(VirtualBatch, NeedsLessMemoryForActivations) {
  const Model model = load_or_die(make_model(ModelKind::lenet5, {28, 28, 1}, 10, 1));
  Examples examples(32, 784, 10);
  TrainOptions options = plain(32);
  const uint64_t whole = Trainer::create(model, options, examples)->memory().planned_bytes;
  options.micro_batch_size = 4;
  EXPECT_LT(Trainer::create(model, options, examples)->memory().planned_bytes * 4, whole);
}

TEST(Clip, ByNormScalesTheWholeGradient) {
  const Model model = small_cnn();
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  options.optimizer.learning_rate = 1;
  const std::vector<float> free = delta_after(model, options, examples);
  options.clip_norm = static_cast<float>(norm(free) / 4);
  const std::vector<float> clipped = delta_after(model, options, examples);
  EXPECT_NEAR(norm(clipped), norm(free) / 4, norm(free) * 1e-6);
  for (size_t i = 0; i < free.size(); ++i) ASSERT_NEAR(clipped[i], free[i] / 4, 1e-6) << i;
  options.clip_norm = static_cast<float>(norm(free) * 2);
  expect_near(delta_after(model, options, examples), free, 1e-7f);
}

TEST(Clip, ByValueBoundsEachElement) {
  const Model model = small_cnn();
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  options.optimizer.learning_rate = 1;
  const std::vector<float> free = delta_after(model, options, examples);
  options.clip_value = 0.01f;
  const std::vector<float> clipped = delta_after(model, options, examples);
  for (size_t i = 0; i < free.size(); ++i) {
    ASSERT_NEAR(clipped[i], std::clamp(free[i], -0.01f, 0.01f), 1e-7) << i;
  }
}

// The first step begins where the model was given and is pulled nowhere; the second is, by what the first one moved.
TEST(Proximal, PullsEachWeightBackByItsDistance) {
  const Model model = small_cnn();
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  options.epochs = 2;
  const auto expect_pulled = [&](const char* what) {
    SCOPED_TRACE(what);
    options.proximal_mu = 0;
    const std::vector<float> once = delta_after(model, options, examples, 1);
    std::vector<float> expected = delta_after(model, options, examples, 2);
    options.proximal_mu = 2;
    EXPECT_EQ(delta_after(model, options, examples, 1), once);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] -= options.optimizer.learning_rate * 2 * once[i];
    const std::vector<float> pulled = delta_after(model, options, examples, 2);
    expect_near(pulled, expected, 1e-6f);
    options.threads = 2;
    options.part_nanoseconds_min = 0;
    EXPECT_EQ(delta_after(model, options, examples, 2), pulled);
    options.threads = 1;
  };
  expect_pulled("as each gradient is there");
  options.micro_batch_size = 4;
  expect_pulled("in micro-batches");
  options.micro_batch_size = 0;
  options.channels = {{.pattern = "conv1.weight", .first = 0, .last = 0, .fraction = 0.5f}};
  expect_pulled("some channels alone");
}

TEST(Proximal, KeepsAllOptimizersNearerToTheGivenModel) {
  const Model model = load_or_die(make_model(ModelKind::mlp, {8, 8, 1}, 10, 5));
  Examples examples(16, 64, 10);
  for (const std::string_view name : optimizer_names()) {
    TrainOptions options = plain(16);
    options.epochs = 40;
    options.optimizer.kind = *optimizer_from(name);
    options.optimizer.learning_rate = name == "adadelta" ? 1 : 0.01f;
    const double free = norm(delta_after(model, options, examples, 40));
    options.proximal_mu = 1;
    EXPECT_LT(norm(delta_after(model, options, examples, 40)), free * 0.99) << name;
  }
}

// What is added to each gradient moves each weight by the rate times it, in every step, wherever the gradient came
// from.
TEST(GradientOffset, IsInEachStepsGradient) {
  const Model model = small_cnn();
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  std::vector<float> offset(model.value_count());
  for (size_t i = 0; i < offset.size(); ++i) offset[i] = 0.01f * static_cast<float>(i % 7) - 0.02f;
  const auto added = std::make_shared<const std::vector<float>>(offset);
  const auto expect_added = [&](const char* what) {
    SCOPED_TRACE(what);
    options.gradient_offset = {};
    std::vector<float> expected = delta_after(model, options, examples, 1);
    options.gradient_offset = added;
    for (size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] != 0) expected[i] -= options.optimizer.learning_rate * offset[i];  // of what is trained
    }
    const std::vector<float> moved = delta_after(model, options, examples, 1);
    for (size_t i = 0; i < moved.size(); ++i) {
      if (expected[i] == 0) continue;
      ASSERT_NEAR(moved[i], expected[i], 1e-6f) << i;
    }
    options.threads = 2;
    options.part_nanoseconds_min = 0;
    EXPECT_EQ(delta_after(model, options, examples, 1), moved);
    options.threads = 1;
  };
  expect_added("as each gradient is there");
  options.proximal_mu = 2;
  expect_added("beside a pull");
  options.micro_batch_size = 4;
  expect_added("in micro-batches");
  options.micro_batch_size = 0;
  options.channels = {{.pattern = "conv1.weight", .first = 0, .last = 0, .fraction = 0.5f}};
  expect_added("some channels alone");
}

TEST(GradientOffset, HasAsManyValuesAsTheModel) {
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  options.gradient_offset = std::make_shared<const std::vector<float>>(3);
  EXPECT_ERROR(Trainer::create(small_cnn(), options, examples), ErrorCode::invalid_argument, "gradient_offset has 3");
}

TEST(Proximal, IsANumberOfAtLeastZero) {
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  for (const float mu : {-1.0f, std::nanf(""), INFINITY}) {
    options.proximal_mu = mu;
    EXPECT_ERROR(Trainer::create(small_cnn(), options, examples), ErrorCode::invalid_argument, "proximal_mu");
  }
}

TEST(Optimizers, AllLowerTheLossOfASmallNet) {
  const Model model = load_or_die(make_model(ModelKind::mlp, {8, 8, 1}, 10, 5));
  Examples examples(16, 64, 10);
  for (const OptimizerKind kind :
       {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::adagrad, OptimizerKind::rmsprop,
        OptimizerKind::adadelta, OptimizerKind::lamb, OptimizerKind::lion, OptimizerKind::muon,
        OptimizerKind::shampoo}) {
    SCOPED_TRACE(to_string(kind));
    TrainOptions options = plain(16);
    options.epochs = 60;
    options.optimizer.kind = kind;
    const bool is_fast = kind == OptimizerKind::sgd || kind == OptimizerKind::lamb || kind == OptimizerKind::shampoo;
    options.optimizer.learning_rate = is_fast ? 0.05f : kind == OptimizerKind::adadelta ? 2.0f : 0.003f;
    options.optimizer.momentum = 0.5f;
    options.optimizer.smoothing = 0.9f;
    Result<Trainer> trainer = Trainer::create(model, options, examples);
    ASSERT_OK(trainer);
    ASSERT_OK(trainer->step());
    const double first = trainer->summary().loss_sum;
    while (!trainer->finished()) {
      const double before = trainer->summary().loss_sum;
      ASSERT_OK(trainer->step());
      if (trainer->finished()) {
        EXPECT_LT(trainer->summary().loss_sum - before, 0.5 * first);
      }
    }
  }
}

TEST(Losses, RefuseTargetsTheyCannotTake) {
  const Model model = small_cnn();
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  options.loss.kind = Loss::kl_divergence;
  EXPECT_ERROR(Trainer::create(model, options, examples), ErrorCode::invalid_argument, "needs values, not labels");
  options.loss = {.kind = Loss::softmax_cross_entropy, .class_weights = {1, 2}};
  EXPECT_ERROR(Trainer::create(model, options, examples), ErrorCode::invalid_argument,
               "as many classes as class weights");
  options.loss = {.kind = Loss::triplet_margin};
  EXPECT_ERROR(Trainer::create(model, options, examples), ErrorCode::invalid_argument, "rows of 3 vectors");
  options.loss = {.kind = Loss::softmax_cross_entropy, .label_smoothing = 1};
  EXPECT_ERROR(Trainer::create(model, options, examples), ErrorCode::invalid_argument, "label_smoothing");
}

TEST(Losses, SmoothedLabelsCostMoreThanCertainOnes) {
  const Model model = small_cnn();
  Examples examples(8, 64, 10);
  TrainOptions options = plain();
  const auto loss = [&] {
    Result<Trainer> trainer = Trainer::create(model, options, examples);
    EXPECT_OK(trainer->step());
    return trainer->summary().loss_sum;
  };
  const double certain = loss();
  options.loss.class_weights = std::vector<float>(10, 1.0f);
  EXPECT_NEAR(loss(), certain, 1e-9);
  options.loss.label_smoothing = 0.1f;
  EXPECT_NE(loss(), certain);
}

}  // namespace
}  // namespace coterie::test
