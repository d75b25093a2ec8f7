// batch_norm, layer_norm, rms_norm, group_norm.
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

std::span<const float> values_of(const Model& model, std::span<const float> flat, const std::string& name) {
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (tensor.name == name) return flat.subspan(tensor.payload_offset / sizeof(float), elements(tensor.shape));
  }
  ADD_FAILURE() << name;
  return {};
}

// Statistics other than 0 and 1, so that it shows which are used.
TensorId batch_norm_of(ModelBuilder& build, TensorId x, const NormAttributes& attributes) {
  const int64_t c = build.shape(x).back();
  const auto count = static_cast<size_t>(c);
  return build.op(
      OpKind::batch_norm,
      {x, build.parameter("scale", {c}, random_values(count, 1, 0.5, 2)),
       build.parameter("bias", {c}, random_values(count, 2)), build.state("mean", {c}, random_values(count, 3)),
       build.state("variance", {c}, random_values(count, 4, 0.5, 2))},
      attributes);
}

TEST(BatchNormRule, DifferentiatesThroughTheBatchsStatistics) {
  ModelBuilder build("norm", {3, 2, 2}, 1);
  const Model model = scored(build, batch_norm_of(build, shifted(build, build.input()), {}));
  Batch batch(model, 4);
  expect_gradient_is_numerical(model, batch);
}

TEST(BatchNormRule, DifferentiatesWithFrozenStatisticsAndLeavesThem) {
  ModelBuilder build("norm", {3, 2, 2}, 1);
  const Model model = scored(build, batch_norm_of(build, shifted(build, build.input()), {.is_frozen = true}));
  Batch batch(model, 4);
  expect_gradient_is_numerical(model, batch);
  std::vector<float> delta(model.value_count());
  trained_once(model, batch, Loss::softmax_cross_entropy).delta(delta);
  for (const char* state : {"mean", "variance"}) {
    for (const float value : values_of(model, delta, state)) EXPECT_EQ(value, 0) << state;
  }
}

// Only x is trained: the sums are still needed for its gradient.
TEST(BatchNormRule, DifferentiatesByItsInputAlone) {
  for (const bool is_frozen : {false, true}) {
    ModelBuilder build("norm", {3, 2, 2}, 1);
    const TensorId y = batch_norm_of(build, shifted(build, build.input()), {.is_frozen = is_frozen});
    const Model made = scored(build, y);
    const Model model = load_or_die(forged(made, [](ModelGraph& graph) {
      for (TensorInfo& tensor : graph.tensors) {
        if (tensor.name == "scale" || tensor.name == "bias") tensor.is_frozen = true;
      }
    }));
    Batch batch(model, 4);
    expect_gradient_is_numerical(model, batch);
  }
}

// PyTorch's BatchNorm: the running variance follows the unbiased one.
TEST(BatchNormRule, RunningStatisticsFollowTheBatchs) {
  ModelBuilder build("norm", {2}, 1);
  const Model model = scored(build, batch_norm_of(build, build.input(), {.momentum = 0.25f}));
  Batch batch(model, 4);
  batch.floats() = {1, 10, 2, 10, 3, 10, 6, 14};  // means 3 and 11, unbiased variances 14/3 and 4
  const Trainer trainer = trained_once(model, batch, Loss::softmax_cross_entropy);
  const auto mean = values_of(model, model.parameters(), "mean"),
             variance = values_of(model, model.parameters(), "variance");
  const auto new_mean = values_of(model, trainer.parameters(), "mean");
  const auto new_variance = values_of(model, trainer.parameters(), "variance");
  EXPECT_NEAR(new_mean[0], 0.75f * mean[0] + 0.25f * 3, 1e-6);
  EXPECT_NEAR(new_mean[1], 0.75f * mean[1] + 0.25f * 11, 1e-6);
  EXPECT_NEAR(new_variance[0], 0.75f * variance[0] + 0.25f * 14 / 3, 1e-6);
  EXPECT_NEAR(new_variance[1], 0.75f * variance[1] + 0.25f * 4, 1e-6);
}

TEST(BatchNormRule, OneRowLeavesTheRunningVariance) {
  ModelBuilder build("norm", {2}, 1);
  const Model model = scored(build, batch_norm_of(build, build.input(), {}));
  Batch batch(model, 1);
  const Trainer trainer = trained_once(model, batch, Loss::softmax_cross_entropy);
  EXPECT_EQ(values_of(model, trainer.parameters(), "variance")[0], values_of(model, model.parameters(), "variance")[0]);
  EXPECT_NE(values_of(model, trainer.parameters(), "mean")[0], values_of(model, model.parameters(), "mean")[0]);
}

// A loss that is not finite changes nothing, the running statistics included.
TEST(BatchNormRule, ADivergedStepLeavesTheStatistics) {
  ModelBuilder build("norm", {2}, 1);
  const Model model = scored(build, batch_norm_of(build, build.input(), {}));
  Batch batch(model, 2);
  batch.floats()[0] = INFINITY;
  const TrainingSettings settings{.loss = Loss::softmax_cross_entropy, .batch_size = 2, .local_epochs = 1};
  Result<Trainer> trainer = Trainer::create(model, settings, batch, 1);
  ASSERT_OK(trainer);
  EXPECT_ERROR(trainer->step(), ErrorCode::invalid_argument, "not finite");
  EXPECT_EQ(values_of(model, trainer->parameters(), "mean")[1], values_of(model, model.parameters(), "mean")[1]);
}

TEST(BatchNormRule, EvaluatesWithTheRunningStatistics) {
  ModelBuilder build("norm", {2}, 1);
  const Model model = computing(build, batch_norm_of(build, build.input(), {.epsilon = 0.01f}));
  Batch batch(model, 3);
  const std::vector<float> y = outputs_of(model, batch);
  const auto of = [&](const char* name, size_t c) { return values_of(model, model.parameters(), name)[c]; };
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t c = i % 2;
    const float x = (batch.floats()[i] - of("mean", c)) / std::sqrt(of("variance", c) + 0.01f);
    EXPECT_NEAR(y[i], of("scale", c) * x + of("bias", c), 1e-5);
  }
}

const float kSpread[] = {4};

// The ReLU behind is computed with it (fusion.h), and masked for with it.
TEST(BatchNormRule, AppliesTheReluBehind) {
  for (const OpKind kind : {OpKind::relu, OpKind::relu6}) {
    for (const bool is_frozen : {false, true}) {
      SCOPED_TRACE(std::string(to_string(kind)) + (is_frozen ? " frozen" : ""));
      ModelBuilder build("norm", {2, 2, 2}, 1);
      const TensorId x = build.op(
          OpKind::mul, {shifted(build, build.input()), build.constant("spread", {1}, std::span<const float>(kSpread))});
      const Model model = scored(build, build.op(kind, {batch_norm_of(build, x, {.is_frozen = is_frozen})}));
      Batch batch(model, 3, 21);
      expect_gradient_is_numerical(model, batch);
    }
    ModelBuilder alone("norm", {4}, 1), fused("norm", {4}, 1);
    const Model plain = computing(alone, batch_norm_of(alone, alone.input(), {}));
    const Model rectified = computing(fused, fused.op(kind, {batch_norm_of(fused, fused.input(), {})}));
    Batch batch(plain, 3, 5, -20, 20);
    const std::vector<float> x = outputs_of(plain, batch), y = outputs_of(rectified, batch);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(y[i], std::min(std::max(x[i], 0.0f), kind == OpKind::relu6 ? 6.0f : INFINITY));
    }
  }
}

TEST(BatchNormRule, RefusesWhatIsNoState) {
  ModelBuilder parameters("norm", {2}, 1);
  const TensorId p = parameters.parameter("p", {2}, {1, 1});
  EXPECT_ERROR(parameters.finish(parameters.op(OpKind::batch_norm, {parameters.input(), p, p, p, p})),
               ErrorCode::malformed, "input 3 must be state");
  ModelBuilder twins("norm", {2}, 1);
  const TensorId scale = twins.parameter("p", {2}, {1, 1}), state = twins.state("s", {2}, {1, 1});
  EXPECT_ERROR(twins.finish(twins.op(OpKind::batch_norm, {twins.input(), scale, scale, state, state})),
               ErrorCode::malformed, "one tensor");
  ModelBuilder wide("norm", {2}, 1);
  EXPECT_ERROR(wide.finish(batch_norm_of(wide, wide.input(), {.momentum = 2})), ErrorCode::malformed, "momentum");
  ModelBuilder nan("norm", {2}, 1);
  EXPECT_ERROR(nan.finish(batch_norm_of(nan, nan.input(), {.epsilon = NAN})), ErrorCode::malformed, "epsilon");
}

TEST(LayerNormRule, DifferentiatesOverSomeOfTheDimensions) {
  for (const uint32_t axes : {1u, 2u}) {
    ModelBuilder build("norm", {2, 3}, 1);
    const Shape shape = axes == 1 ? Shape{3} : Shape{2, 3};
    const TensorId x = shifted(build, build.input());
    const TensorId scale = build.parameter("scale", shape, random_values(elements(shape), 1, 0.5, 2));
    const TensorId bias = build.parameter("bias", shape, random_values(elements(shape), 2));
    const Model model = scored(build, build.op(OpKind::layer_norm, {x, scale, bias}, NormAttributes{.axes = axes}));
    Batch batch(model, 3);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(LayerNormRule, DifferentiatesWithoutScaleOrBias) {
  for (const OpKind kind : {OpKind::layer_norm, OpKind::rms_norm}) {
    ModelBuilder build("norm", {2, 5}, 1);
    const Model model = scored(build, build.op(kind, {shifted(build, build.input())}));
    Batch batch(model, 3);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(LayerNormRule, RmsNormHasAScale) {
  ModelBuilder build("norm", {4}, 1);
  const TensorId scale = build.parameter("scale", {4}, {1, 2, 3, 4});
  const TensorId y = build.op(OpKind::rms_norm, {shifted(build, build.input()), scale});
  const Model model = scored(build, y);
  Batch batch(model, 3);
  expect_gradient_is_numerical(model, batch);
  ModelBuilder alone("norm", {4}, 1);
  const TensorId s = alone.parameter("scale", {4}, {1, 2, 3, 4});
  const Model plain =
      load_or_die(alone.finish(alone.op(OpKind::rms_norm, {alone.input(), s}, NormAttributes{.epsilon = 0})));
  Batch one(plain, 1);
  one.floats() = {1, -1, 7, 7};  // root mean square 5
  const std::vector<float> computed = outputs_of(plain, one), expected = {0.2f, -0.4f, 4.2f, 5.6f};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(computed[i], expected[i], 1e-6);
}

TEST(LayerNormRule, RefusesScalesOfAnotherShape) {
  ModelBuilder build("norm", {2, 3}, 1);
  const TensorId scale = build.parameter("scale", {2}, {1, 1});
  EXPECT_ERROR(build.finish(build.op(OpKind::layer_norm, {build.input(), scale})), ErrorCode::malformed,
               "input 1 is 2, must be 3");
  ModelBuilder deep("norm", {2, 3}, 1);
  EXPECT_ERROR(deep.finish(deep.op(OpKind::layer_norm, {deep.input()}, NormAttributes{.axes = 4})),
               ErrorCode::malformed, "normalises 4 of 3 dimensions");
}

TEST(GroupNormRule, DifferentiatesEachGroup) {
  for (const uint32_t groups : {1u, 2u, 4u}) {
    ModelBuilder build("norm", {2, 3, 4}, 1);
    const TensorId x = shifted(build, build.input());
    const TensorId scale = build.parameter("scale", {4}, random_values(4, 1, 0.5, 2));
    const TensorId bias = build.parameter("bias", {4}, random_values(4, 2));
    const Model model = scored(build, build.op(OpKind::group_norm, {x, scale, bias}, NormAttributes{.groups = groups}));
    Batch batch(model, 3);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(GroupNormRule, RefusesGroupsThatDoNotDivide) {
  for (const uint32_t groups : {0u, 3u}) {
    ModelBuilder build("norm", {2, 4}, 1);
    const TensorId p = build.parameter("p", {4}, {1, 1, 1, 1});
    EXPECT_ERROR(build.finish(build.op(OpKind::group_norm, {build.input(), p, p}, NormAttributes{.groups = groups})),
                 ErrorCode::malformed, "do not divide 4 channels");
  }
}

}  // namespace
}  // namespace coterie::test
