// Steps along a gradient, on models of which it is known what they come to.
#include "tools/model_report/adversarial.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/tools/explain/planted_models.h"

namespace coterie::test {
namespace {

const LossSettings kLabels = {.kind = Loss::softmax_cross_entropy, .target = TargetKind::labels};
constexpr double kSlopes = kRise - kFall;  // of the two values that the planted model reads, magnitudes added

Result<AdversarialSteps> stepped(const Model& model, const LossSettings& loss, ExampleSource& examples) {
  Result<AskedModel> asked = AskedModel::create(model);
  EXPECT_OK(asked);
  return adversarial_steps(*asked, loss, examples, 1, 1);
}

// Output 0 less output 1 falls by the slopes' magnitudes times the step where the label is 0, and rises where it is 1.
TEST(Adversarial, AStepOnALinearModelIsWhatItsWeightsSay) {
  Examples examples(50, 8, 2);
  const Result<AdversarialSteps> made = stepped(planted_sum({8}, 2, 5), kLabels, examples);
  ASSERT_OK(made);
  ASSERT_EQ(made->steps.size(), 4u);
  for (const AdversarialStep& step : made->steps) {
    double loss = 0, correct = 0;
    for (uint64_t i = 0; i < examples.size(); ++i) {
      const auto values = std::span(examples.values()).subspan(i * 8, 8);
      const auto [least, most] = std::ranges::minmax(values);
      const double margin = static_cast<double>(kRise * values[2] + kFall * values[5] + kOffset);
      const double against = step.share * static_cast<double>(most - least) * kSlopes;
      const double of_label = examples.labels()[i] == 0 ? margin - against : -margin - against;
      loss += std::log1p(std::exp(-of_label)) / static_cast<double>(examples.size());
      correct += of_label > 0 ? 1 : 0;
    }
    EXPECT_NEAR(step.by_gradient.loss_mean, loss, 1e-4) << step.share;
    EXPECT_DOUBLE_EQ(step.by_gradient.accuracy, correct / static_cast<double>(examples.size())) << step.share;
    EXPECT_LT(step.at_random.loss_mean, step.by_gradient.loss_mean);
    EXPECT_NE(step.at_random.loss_mean, made->unmoved.loss_mean);
  }
}

TEST(Adversarial, ASoftmaxOfTheModelsOwnHasTheSameDirection) {
  const auto with = [](OpKind last) {
    ModelBuilder build("sum", {4}, 1);
    TensorId x = build.dense(build.input(), 3);
    if (last != OpKind::dense) x = build.op(last, {x}, AxisAttributes{.axis = 1});
    const Model model = load_or_die(build.finish(x));
    Examples examples(60, 4, 3);
    const LossSettings loss{.kind = Loss::mean_squared_error, .target = TargetKind::labels};
    const Result<AdversarialSteps> made = stepped(model, loss, examples);
    EXPECT_OK(made);
    return made->steps.back().by_gradient.accuracy;
  };
  const double logits = with(OpKind::dense);
  EXPECT_DOUBLE_EQ(with(OpKind::softmax), logits);
  EXPECT_DOUBLE_EQ(with(OpKind::log_softmax), logits);
}

// Where two logits are 2000 apart the softmax is 1 and 0, to the last bit.
TEST(Adversarial, NoAnswerIsTooSureForADirection) {
  class Sure final : public ExampleSource {
   public:
    uint64_t size() const override { return 1; }
    Status read(uint64_t, const Example& to) override {
      to.features()[0] = 1;
      to.features()[1] = 0;
      to.labels()[0] = 0;
      return {};
    }
  } sure;
  ModelBuilder build("sure", {2}, 1);
  const Model model = load_or_die(
      build.finish(build.op(OpKind::dense, {build.input(), build.parameter("w", {2, 2}, {2000, 0, -30000, 0}),
                                            build.parameter("b", {2}, {0, 0})})));
  const Result<AdversarialSteps> made = stepped(model, kLabels, sure);
  ASSERT_OK(made);
  EXPECT_DOUBLE_EQ(made->steps[2].by_gradient.accuracy, 1) << "2000 less .05 of 32000";
  EXPECT_DOUBLE_EQ(made->steps[3].by_gradient.accuracy, 0) << "2000 less .1 of 32000";
}

TEST(Adversarial, AnImageStaysWithinItsRange) {
  class Corners final : public ExampleSource {
   public:
    uint64_t size() const override { return 1; }
    Status read(uint64_t, const Example& to) override {
      std::ranges::fill(to.features(), 0.0f);
      to.features()[5] = 1;  // brightest where the model wants it darkest
      to.labels()[0] = 1;
      return {};
    }
  } corners;
  const Result<AdversarialSteps> made = stepped(planted_sum({8, 8, 1}, 5, 6), kLabels, corners);
  ASSERT_OK(made);
  // Label 1 loses where pixel 5 rises, and it cannot; pixel 6 cannot fall below 0.
  EXPECT_DOUBLE_EQ(made->steps[3].by_gradient.loss_mean, made->unmoved.loss_mean);
}

TEST(Adversarial, OfNumbersTheErrorGrows) {
  ModelBuilder build("line", {2}, 1);
  const Model line = load_or_die(build.finish(
      build.op(OpKind::dense, {build.input(), build.parameter("w", {2, 1}, {3, -1}), build.parameter("b", {1}, {0})})));
  class Point final : public ExampleSource {
   public:
    uint64_t size() const override { return 1; }
    Status read(uint64_t, const Example& to) override {
      to.features()[0] = 1;
      to.features()[1] = 0;
      to.targets()[0] = 2;
      return {};
    }
  } point;
  const LossSettings values{.kind = Loss::mean_squared_error, .target = TargetKind::values};
  const Result<AdversarialSteps> made = stepped(line, values, point);
  ASSERT_OK(made);
  const double unit = made->unmoved.loss_mean;  // the error is 1
  EXPECT_NEAR(made->steps[3].by_gradient.loss_mean, unit * 1.4 * 1.4, 1e-5) << "1 and .1 times 4";
}

TEST(Adversarial, ASampleIsSpreadOverManyExamples) {
  Examples many(kAttackedExamplesMax * 3, 2, 2);
  const Result<AdversarialSteps> made = stepped(planted_sum({2}, 0, 1), kLabels, many);
  ASSERT_OK(made);
  EXPECT_EQ(made->unmoved.examples, kAttackedExamplesMax);
  EXPECT_GT(many.reads()[0], 0u);
  EXPECT_EQ(many.reads()[1], 0u);
  EXPECT_GT(many.reads()[3], 0u);
  Examples wrong(5, 8, 2);
  wrong.set_label(2, 9);
  EXPECT_EQ(stepped(planted_sum({8}, 2, 5), kLabels, wrong).error().code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace coterie::test
