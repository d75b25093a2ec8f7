// Trainings with a known fault, and without one.
#include "device_sdk/watch/watch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/loss_heads.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/messages/model_outputs.h"
#include "tests/support/matchers.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kExamples = 20;
constexpr size_t kFeatures = 6;
constexpr uint32_t kClasses = 3, kBatch = 4;

TrainOptions options_with(float learning_rate, uint32_t epochs = 40) {
  TrainOptions options{.batch_size = kBatch, .epochs = epochs, .seed = 7};
  options.optimizer.learning_rate = learning_rate;
  return options;
}

Examples examples() { return Examples(kExamples, kFeatures, kClasses); }

// The standards, at each step, whatever the figures of cost.
WatchPlan recommended_at_each_step() {
  WatchPlan plan = recommended_watch();
  plan.every = 1;
  return plan;
}

WatchPlan plan_of(const char* check, std::string tensors = "*") {
  WatchPlan plan;
  plan.checks.emplace_back(*find_check(check)).tensors = std::move(tensors);
  return plan;
}

struct Watched {
  std::vector<WatchHit> hits;
  uint64_t looks = 0, left_out = 0;
  std::vector<float> parameters;
  bool failed = false;

  std::vector<std::string> checks() const {
    std::vector<std::string> names;
    for (const WatchHit& hit : hits) {
      if (std::ranges::find(names, hit.check) == names.end()) names.emplace_back(hit.check);
    }
    return names;
  }
  std::vector<std::string> tensors() const {
    std::vector<std::string> names;
    for (const WatchHit& hit : hits) names.push_back(hit.tensor);
    return names;
  }
};

Watched train(const Model& model, const TrainOptions& options, ExampleSource& source, WatchPlan plan) {
  Result<Trainer> trainer = Trainer::create(model, options, source);
  EXPECT_OK(trainer);
  const Result<std::vector<bool>> is_trained = trainable_tensors(model.graph(), options);
  EXPECT_OK(is_trained);
  Watch watch(model, std::move(plan), *is_trained, source.size() / options.batch_size, trainer->summary());
  Watched watched;
  while (!trainer->finished()) {
    if (!trainer->step(&watch)) {
      watched.failed = true;
      if (watch.look_again()) EXPECT_FALSE(trainer->step(&watch)) << "the same step once more";
      EXPECT_FALSE(watch.look_again()) << "once";
      break;
    }
    watch.end_step(*trainer);
  }
  watched.hits = watch.hits().hits();
  watched.looks = watch.looks();
  watched.left_out = watch.hits().left_out();
  watched.parameters.assign(trainer->parameters().begin(), trainer->parameters().end());
  return watched;
}

// dense -> relu -> dense, of the given first weights and biases.
Model net_with(float weight_scale, float bias, OpKind kind = OpKind::relu) {
  ModelBuilder build("net", {kFeatures}, 3);
  Prng prng(4);
  std::vector<float> weights(kFeatures * 8);
  for (float& value : weights) value = static_cast<float>(prng.normal() * 0.5) * weight_scale;
  const TensorId weight = build.parameter("first.weight", {kFeatures, 8}, weights);
  const TensorId bias_id = build.parameter("first.bias", {8}, std::vector<float>(8, bias));
  const TensorId x = build.op(OpKind::dense, {build.input(), weight, bias_id}, {}, "first");
  return load_or_die(build.finish(build.dense(build.op(kind, {x}, {}, "unit"), kClasses)));
}

// Features that say which class it is.
class Learnable final : public Examples {
 public:
  Learnable(size_t features, uint32_t classes) : Examples(kExamples, features, classes), classes_(classes) {}
  Status read(uint64_t index, const Example& to) override {
    COT_TRY(Examples::read(index, to));
    const auto label = static_cast<size_t>(to.labels()[0]);
    for (size_t i = 0; i < to.features().size(); ++i) {
      to.features()[i] = to.features()[i] * 0.3f + (i % classes_ == label ? 1.0f : 0.0f);
    }
    return {};
  }

 private:
  size_t classes_;
};

TEST(Watch, HealthyTrainingsHaveNoHit) {
  for (const ModelKind kind : {ModelKind::cnn, ModelKind::mlp}) {
    const Model model = load_or_die(make_model(kind, {8, 8, 1}, 10, 5));
    Learnable source(64, 10);
    const Watched watched = train(model, options_with(0.05f, 30), source, recommended_at_each_step());
    EXPECT_THAT(watched.checks(), IsEmpty()) << model.graph().name;
    EXPECT_EQ(watched.looks, 150u);
  }
}

// Labels that the features say no more of than their odds: no loss comes near 0.
class Odds final : public ExampleSource {
 public:
  uint64_t size() const override { return 640; }
  Status read(uint64_t index, const Example& to) override {
    Prng prng(index + 1);
    for (float& value : to.features()) value = static_cast<float>(prng.uniform(-1, 1));
    const double odds = 1 / (1 + std::exp(-4 * static_cast<double>(to.features()[0])));
    to.labels()[0] = prng.uniform(0, 1) < odds ? 1 : 0;
    return {};
  }
};

TEST(Watch, ALossThatCannotBecomeSmallIsNoFault) {
  Odds odds;
  ModelBuilder build("logistic", {kFeatures}, 3);
  const Model model = load_or_die(build.finish(build.dense(build.input(), 2)));
  TrainOptions options = options_with(0.1f, 12);
  options.batch_size = 16;
  const auto is_hit = [&](const Watched& watched) {
    const auto checks = watched.checks();
    return std::ranges::find(checks, "loss_not_decreasing") != checks.end();
  };
  EXPECT_TRUE(is_hit(train(model, options, odds, plan_of("loss_not_decreasing")))) << "by its standard";
  EXPECT_FALSE(is_hit(train(model, options, odds, recommended_watch())));
}

// Shares of a thousand examples of 500 classes differ by chance.
TEST(Watch, ManyClassesDoNotDrift) {
  constexpr uint32_t kMany = 500;
  class Balanced final : public Examples {
   public:
    Balanced() : Examples(2000, kFeatures, kMany) {
      for (uint64_t i = 0; i < size(); ++i) set_label(i, static_cast<int32_t>(i % kMany));
    }
  } source;
  ModelBuilder build("wide", {kFeatures}, 3);
  const Model model = load_or_die(build.finish(build.dense(build.input(), kMany)));
  TrainOptions options = options_with(1e-3f, 12);
  options.batch_size = 50;
  EXPECT_EQ(train(model, options, source, plan_of("label_drift")).hits.size(), 0u);
  WatchPlan narrow = plan_of("label_drift");
  narrow.checks[0].set("window_examples", 1000);
  EXPECT_EQ(train(model, options, source, narrow).hits.size(), 1u) << "who asks for it has it";
}

TEST(Watch, WeightsStandStillAtTheEndOfASchedule) {
  Examples source = examples();
  TrainOptions options = options_with(0.01f, 4);
  options.schedule = {.kind = ScheduleKind::step, .period = 10, .gamma = 1e-6f};
  const WatchPlan plan = plan_of("weight_unchanged", "*weight");
  EXPECT_EQ(train(net_with(1, 0.1f), options, source, plan).hits.size(), 0u);
  options.optimizer.learning_rate = 1e-8f;
  EXPECT_EQ(train(net_with(1, 0.1f), options, source, plan).hits.size(), 2u) << "from the first step on";
}

TEST(Watch, ChangesNoBit) {
  for (const Model& model : {small_cnn(), tangled_net()}) {
    for (const uint32_t micro_batch : {0u, 2u}) {
      Examples source(kExamples, elements(model.input_shape()), static_cast<uint32_t>(model.output_shape().back()));
      TrainOptions options = options_with(0.02f, 3);
      options.micro_batch_size = micro_batch;
      const Watched watched = train(model, options, source, recommended_at_each_step());
      Result<Trainer> plain = Trainer::create(model, options, source);
      ASSERT_OK(plain);
      while (!plain->finished()) {
        const Status stepped = plain->step();
        ASSERT_OK(stepped);
      }
      EXPECT_TRUE(std::ranges::equal(watched.parameters, plain->parameters())) << model.graph().name;
    }
  }
}

TEST(Watch, WeightsThatAreZeroAtFirst) {
  Examples source = examples();
  const Watched watched = train(net_with(0, 0), options_with(0.05f), source, recommended_at_each_step());
  EXPECT_THAT(watched.checks(), Contains("weight_initial"));
  EXPECT_EQ(watched.hits[0].tensor, "first.weight");
  EXPECT_EQ(watched.hits[0].layer, "first");
  EXPECT_EQ(watched.hits[0].value, 100);
}

TEST(Watch, WeightsThatAreZeroByDesign) {
  Examples source = examples();
  WatchPlan plan = plan_of("weight_initial");
  plan.zero_at_first = {"first.*"};
  EXPECT_EQ(train(net_with(0, 0), options_with(0.05f, 1), source, plan).hits.size(), 0u);
  plan.zero_at_first = {"second.*"};
  EXPECT_THAT(train(net_with(0, 0), options_with(0.05f, 1), source, plan).tensors(), ElementsAre("first.weight"));
}

// Training fails between two looks: the step that failed is looked at, with the weights in front of it.
TEST(Watch, ATrainingThatDivergesBetweenTwoLooks) {
  Examples source = examples();
  const Watched watched = train(net_with(1, 0.1f), options_with(1e30f), source, recommended_watch());
  EXPECT_TRUE(watched.failed);
  EXPECT_EQ(watched.looks, 2u);
  EXPECT_THAT(watched.checks(), Contains("operator_overflow"));
  EXPECT_THAT(watched.checks(), Contains("tensor_overflow"));
  WatchPlan plan = plan_of("weight_too_large", "*weight");
  plan.checks[0].set("max_above", 1e20);
  plan.checks[0].from_step = 1;  // behind the look at step 0
  plan.every = 50;
  const Watched weights = train(net_with(1, 0.1f), options_with(1e30f), source, plan);
  ASSERT_FALSE(weights.hits.empty());
  EXPECT_EQ(weights.looks, 2u);
}

TEST(Watch, ACheckThatIsForNothing) {
  const Model model = net_with(1, 0);
  const auto idle_of = [&](WatchPlan plan, const TrainOptions& options = options_with(1)) {
    const Watch watch(model, std::move(plan), *trainable_tensors(model.graph(), options), 1, {});
    const WatchedCheck* const idle = watch.idle_check();
    return idle == nullptr ? "" : std::string(idle->check->name);
  };
  EXPECT_EQ(idle_of(plan_of("weight_overflow", "first.*")), "");
  EXPECT_EQ(idle_of(plan_of("weight_overflow", "firrst.*")), "weight_overflow");
  EXPECT_EQ(idle_of(plan_of("dead_relu")), "");
  EXPECT_EQ(idle_of(plan_of("loss_not_decreasing")), "") << "it reads no tensor";
  WatchPlan plan = plan_of("dead_relu");
  plan.checks[0].op = "relu6";
  EXPECT_EQ(idle_of(plan), "dead_relu");
  TrainOptions options = options_with(1);
  options.freeze = {"first.*"};
  EXPECT_EQ(idle_of(plan_of("gradient_vanishing", "first.*"), options), "gradient_vanishing");
}

TEST(Watch, UnitsThatNeverFire) {
  Examples source = examples();
  const Watched watched = train(net_with(1, -1000), options_with(0.05f), source, recommended_at_each_step());
  EXPECT_THAT(watched.checks(), Contains("dead_relu"));
  const auto dead = std::ranges::find(watched.hits, "dead_relu", &WatchHit::check);
  EXPECT_EQ(dead->layer, "unit") << "the ReLU that the layer in front of it applies";
  EXPECT_EQ(dead->value, 1);
  EXPECT_EQ(dead->first_step, 50u) << "that it lasts is what counts";
  EXPECT_THAT(watched.checks(), Contains("gradient_vanishing"));
  EXPECT_THAT(watched.checks(), Contains("weight_unchanged"));
}

TEST(Watch, ALearningRateOfNothing) {
  Examples source = examples();
  const Watched watched = train(net_with(1, 0.1f), options_with(1e-12f), source, recommended_at_each_step());
  EXPECT_THAT(watched.checks(), UnorderedElementsAre("weight_unchanged", "loss_not_decreasing"));
}

TEST(Watch, ALearningRateThatIsFarTooHigh) {
  Examples source = examples();
  TrainOptions options = options_with(1000);
  options.steps_max = 1;
  const WatchPlan plan = plan_of("weight_change_too_large", "*weight");
  EXPECT_EQ(train(net_with(1, 0.1f), options, source, plan).hits.size(), 2u) << "of two layers";
  options.optimizer.learning_rate = 1e-4f;
  EXPECT_EQ(train(net_with(1, 0.1f), options, source, plan).hits.size(), 0u);
}

TEST(Watch, TheOpThatOverflowsAndNotThoseBehindIt) {
  Examples source = examples();
  source.set_feature(13, 2, 1000);
  const Watched watched =
      train(net_with(1, 0, OpKind::exp), options_with(1e-6f, 1), source, recommended_at_each_step());
  EXPECT_TRUE(watched.failed) << "the loss is not finite";
  const auto op = std::ranges::find(watched.hits, "operator_overflow", &WatchHit::check);
  ASSERT_NE(op, watched.hits.end());
  EXPECT_EQ(op->layer, "unit");
  EXPECT_EQ(std::ranges::count(watched.hits, "operator_overflow", &WatchHit::check), 1);
  EXPECT_GT(std::ranges::count(watched.hits, "tensor_overflow", &WatchHit::check), 0);
}

// Where the layer applies its ReLU, what overflows is shown as the ReLU's; the layer behind reads it as the layer's.
TEST(Watch, TheOpBehindALayerThatOverflowsWithItsReluIsNotToBlame) {
  Examples source = examples();
  for (size_t feature = 0; feature < kFeatures; ++feature) source.set_feature(13, feature, 3e38f);
  const Watched watched = train(net_with(10, 0), options_with(1e-6f, 1), source, plan_of("operator_overflow"));
  EXPECT_TRUE(watched.failed);
  EXPECT_THAT(watched.tensors(), ElementsAre("unit"));
}

TEST(Watch, DataThatAreNotFiniteAreNoOpsFault) {
  Examples source = examples();
  source.set_feature(13, 2, NAN);
  const Watched watched =
      train(net_with(1, 0, OpKind::tanh), options_with(1e-6f, 1), source, recommended_at_each_step());
  EXPECT_THAT(watched.checks(), UnorderedElementsAre("tensor_overflow"));
}

// An update overflows; the convolution that reads the weight afterwards is not to blame, however it reads it.
TEST(Watch, AConvolutionWhoseWeightIsNotFiniteIsNotToBlame) {
  constexpr size_t kPixels = 8 * 8 * 16;
  ModelBuilder build("net", {8, 8, 16}, 3);
  const TensorId x = build.conv2d(build.input(), {.filters = 32, .kernel = 3, .pad = 1});
  const Model model = load_or_die(build.finish(build.dense(build.flatten(x), kClasses)));
  Examples source(kBatch, kPixels, kClasses);
  for (uint64_t i = 0; i < kBatch; ++i) {
    for (size_t feature = 0; feature < kPixels; ++feature) source.set_feature(i, feature, 10);
  }
  TrainOptions options = options_with(3e38f, 2);
  const Watched watched = train(model, options, source, plan_of("operator_overflow", "*conv1*"));
  EXPECT_TRUE(watched.failed) << "the second step's loss is not finite";
  EXPECT_THAT(watched.tensors(), IsEmpty());
  WatchPlan weights = plan_of("weight_overflow", "conv1.weight");
  EXPECT_THAT(train(model, options, source, weights).tensors(), ElementsAre("conv1.weight"));
}

TEST(Watch, SaturatedTanh) {
  Examples source = examples();
  const Watched watched =
      train(net_with(1e6f, 0, OpKind::tanh), options_with(1e-6f, 1), source, recommended_at_each_step());
  const auto hit = std::ranges::find(watched.hits, "activation_range", &WatchHit::check);
  ASSERT_NE(hit, watched.hits.end());
  EXPECT_EQ(hit->layer, "unit");
  EXPECT_EQ(hit->setting, "percent_below");
}

// By its gradient as the optimizer gets it: added up over micro-batches, and clipped.
TEST(Watch, GradientsAreThoseOfTheWholeStep) {
  Examples source = examples();
  for (const auto& [micro_batch, clip_norm] : {std::pair(0u, 0.0f), {2u, 0.0f}, {0u, 1e-4f}}) {
    TrainOptions options = options_with(1e-6f, 1);
    options.micro_batch_size = micro_batch;
    options.clip_norm = clip_norm;
    WatchPlan plan = plan_of("gradient_too_large", "first.weight");
    plan.checks[0].set("mean_magnitude_above", 1e-4);
    const Watched watched = train(net_with(1, 0), options, source, plan);
    EXPECT_EQ(watched.hits.size(), clip_norm > 0 ? 0u : 1u);
    if (watched.hits.empty()) continue;
    EXPECT_EQ(watched.hits[0].tensor, "gradient of first.weight");
    EXPECT_EQ(watched.hits[0].layer, "first");
    static double whole = 0;
    if (micro_batch == 0) whole = watched.hits[0].value;
    EXPECT_NEAR(watched.hits[0].value, whole, whole * 1e-5);
  }
}

TEST(Watch, PatternsChooseTensorsAndKindsOfOps) {
  Examples source = examples();
  WatchPlan plan = plan_of("tensor_too_large");
  plan.checks[0].set("max_above", -1e30);  // everything
  EXPECT_THAT(train(net_with(1, 0, OpKind::tanh), options_with(1e-6f, 1), source, plan).hits.size(), 3u);
  plan.checks[0].op = "tanh";
  EXPECT_THAT(train(net_with(1, 0, OpKind::tanh), options_with(1e-6f, 1), source, plan).hits.size(), 1u);
  plan.checks[0].tensors = "nothing";
  EXPECT_THAT(train(net_with(1, 0, OpKind::tanh), options_with(1e-6f, 1), source, plan).hits.size(), 0u);
  WatchPlan frozen = plan_of("weight_too_large", "first.*");
  frozen.checks[0].set("max_above", -1e30);
  TrainOptions options = options_with(1e-6f, 1);
  EXPECT_THAT(train(net_with(1, 0), options, source, frozen).tensors(),
              UnorderedElementsAre("first.weight", "first.bias"));
  options.freeze = {"first.weight"};
  EXPECT_THAT(train(net_with(1, 0), options, source, frozen).tensors(), ElementsAre("first.bias"))
      << "what is not trained is not looked at";
}

TEST(Watch, HitsAreBoundedAndMerged) {
  Examples source = examples();
  WatchPlan plan = plan_of("tensor_too_large");
  plan.checks[0].set("max_above", -1e30);
  plan.hits_max = 2;
  plan.every = 2;
  const Watched watched = train(net_with(1, 0, OpKind::tanh), options_with(1e-6f, 2), source, plan);
  ASSERT_EQ(watched.hits.size(), 2u);
  EXPECT_EQ(watched.left_out, 1u) << "of three tensors, not of fifteen looks";
  EXPECT_EQ(watched.looks, 5u) << "steps 0, 2, 4, 6, 8 of 10";
  EXPECT_EQ(watched.hits[0].looks, 5u);
  EXPECT_EQ(watched.hits[0].first_step, 0u);
  EXPECT_EQ(watched.hits[0].last_step, 8u);
}

TEST(Watch, AStepThatIsFarFromTheOthers) {
  class Burst final : public Examples {
   public:
    Burst() : Examples(kExamples, kFeatures, kClasses) {}
    Status read(uint64_t index, const Example& to) override {
      COT_TRY(Examples::read(index, to));
      if (++read_ > 120 && read_ <= 124) {
        for (float& value : to.features()) value *= 1000;  // a batch whose scale is another
      }
      return {};
    }

   private:
    int read_ = 0;
  } source;
  WatchPlan plan = plan_of("update_norm_outlier");
  plan.checks[0].set("deviations_above", 20);
  const Watched watched = train(net_with(1, 0), options_with(1e-4f, 10), source, plan);
  ASSERT_EQ(watched.hits.size(), 1u);
  EXPECT_EQ(watched.hits[0].first_step, 30u);
  EXPECT_EQ(watched.hits[0].looks, 1u);
  EXPECT_TRUE(watched.hits[0].tensor.empty());
}

TEST(Watch, LabelsThatChangeWithTime) {
  class Turning final : public Examples {
   public:
    explicit Turning(int from) : Examples(kExamples, kFeatures, kClasses), from_(from) {}
    Status read(uint64_t index, const Example& to) override {
      COT_TRY(Examples::read(index, to));
      if (++read_ > from_) to.labels()[0] = 0;
      std::ranges::fill(to.labels().subspan(1), 1);  // of further heads
      return {};
    }

   private:
    int from_, read_ = 0;
  };
  WatchPlan plan = plan_of("label_drift");
  plan.checks[0].set("window_examples", 20);
  Turning turning(60), steady(1000);
  EXPECT_EQ(train(net_with(1, 0), options_with(1e-4f, 5), turning, plan).hits.size(), 1u);
  EXPECT_EQ(train(net_with(1, 0), options_with(1e-4f, 5), steady, plan).hits.size(), 0u);

  // With several heads the labels are the first one's.
  ModelBuilder build("heads", {kFeatures}, 1);
  const TensorId y = build.dense(build.input(), kClasses), z = build.dense(build.input(), kClasses);
  const Model headed = load_or_die(build.finish(y, std::vector{z}));
  std::vector<TrainingHead> heads;
  const std::vector<uint32_t> outputs = *graph_outputs(headed.graph());
  for (const uint32_t output : outputs) {
    heads.push_back({headed.graph().tensors[output].name, Loss::softmax_cross_entropy, 1});
  }
  TrainOptions options = options_with(1e-4f, 5);
  set_heads(options.loss, std::move(heads));
  Turning first_turns(60);
  EXPECT_EQ(train(headed, options, first_turns, plan).hits.size(), 1u);

  // A weight that only another head reads is called by that head's layer.
  options.optimizer.learning_rate = 1e-12f;
  const Watched still = train(headed, options, steady, plan_of("weight_unchanged", "*weight"));
  ASSERT_EQ(still.hits.size(), 2u);
  for (const auto& hit : still.hits) EXPECT_FALSE(hit.layer.empty()) << hit.tensor;
}

// What loss scaling skips changes nothing, and that is no fault.
TEST(Watch, StepsThatAreSkippedAreNotUnchangedWeights) {
  Examples source = examples();
  for (uint64_t i = 0; i < kExamples; ++i) source.set_feature(i, 0, 1e36f);
  TrainOptions options = options_with(1e-38f, 3);
  options.batch_size = kExamples;  // some of them are of another class than what the model says
  options.loss_scaling = parse_loss_scaling("65536").value();
  EXPECT_THAT(train(net_with(1, 0), options, source, plan_of("weight_unchanged", "*weight")).hits.size(), 0u);
}

}  // namespace
}  // namespace coterie::test
