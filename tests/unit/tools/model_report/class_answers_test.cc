// Accuracy by class and calibration, against what is counted by hand.
#include <gtest/gtest.h>

#include "tests/unit/tools/explain/planted_models.h"
#include "tools/model/measure.h"
#include "tools/model_report/answer_sink.h"

namespace coterie::test {
namespace {

TEST(ClassAnswers, CountsByClass) {
  ClassAnswers answers(3);
  const std::vector<double> zero = {0.8, 0.1, 0.1}, one = {0.2, 0.6, 0.2};
  answers.add(zero, 0);
  answers.add(zero, 1);
  answers.add(one, 1);
  answers.add(one, 1);
  EXPECT_EQ(answers.examples(), 4u);
  EXPECT_DOUBLE_EQ(answers.classes()[0].recall(), 1);
  EXPECT_DOUBLE_EQ(answers.classes()[0].precision(), 0.5);
  EXPECT_DOUBLE_EQ(answers.classes()[1].recall(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(answers.classes()[1].precision(), 1);
  EXPECT_EQ(answers.classes()[2].examples, 0u);
  EXPECT_EQ(answers.classes()[2].recall(), 0);
  // Half of those at 0.8 are right, all of those at 0.6.
  const ClassCalibration made = answers.calibration();
  EXPECT_NEAR(made.expected_error, (2 * 0.3 + 2 * 0.4) / 4, 1e-12);
  EXPECT_NEAR(made.largest_error, 0.4, 1e-12);
  EXPECT_NEAR(made.confidence_excess, (2 * 0.3 - 2 * 0.4) / 4, 1e-12) << "too unsure";
  // (.2^2 + .1^2 + .1^2), (.8^2 + .9^2 + .1^2), and twice (.2^2 + .4^2 + .2^2).
  EXPECT_NEAR(made.brier, (0.06 + 1.46 + 2 * 0.24) / 4, 1e-12);
}

TEST(ClassAnswers, AreCalibratedWhereConfidenceIsAccuracy) {
  ClassAnswers answers(2);
  const std::vector<double> sure = {0.75, 0.25};
  for (int i = 0; i < 100; ++i) answers.add(sure, i % 4 == 0 ? 1 : 0);
  EXPECT_NEAR(answers.calibration().expected_error, 0, 1e-12);
  EXPECT_EQ(answers.bins()[11].examples, 100u);
  const std::vector<double> certain = {1, 0}, broken = {std::nan(""), std::nan("")};
  answers.add(certain, 1);
  EXPECT_EQ(answers.bins()[ClassAnswers::kBins - 1].examples, 1u);
  const double brier = answers.calibration().brier;
  answers.add(broken, 0);
  EXPECT_EQ(answers.bins()[0].examples, 1u);
  EXPECT_EQ(answers.unanswered(), 1u);
  EXPECT_EQ(answers.classes()[0].correct, 75u) << "no answer is no right one";
  EXPECT_DOUBLE_EQ(answers.calibration().brier, brier);
  EXPECT_DOUBLE_EQ(ClassAnswers(2).calibration().expected_error, 0);
}

// Logits and their softmax are the same answers.
TEST(ClassAnswers, ScoresBecomeProbabilities) {
  const auto judged = [](bool has_softmax) {
    ModelBuilder build("sum", {2}, 1);
    TensorId x = build.op(
        OpKind::dense, {build.input(), build.parameter("w", {2, 2}, {1, 0, 0, 1}), build.parameter("b", {2}, {0, 0})});
    if (has_softmax) x = build.op(OpKind::softmax, {x}, AxisAttributes{.axis = 1});
    const Model model = load_or_die(build.finish(x));
    Examples examples(50, 2, 2);
    const LossSettings loss{.kind = has_softmax ? Loss::mean_squared_error : Loss::softmax_cross_entropy,
                            .target = TargetKind::labels};
    ClassAnswers answers(2);
    EXPECT_OK(measure(model, examples, loss, {}, 1, 1, class_sink(model, answers, nullptr)));
    return answers;
  };
  const ClassAnswers logits = judged(false), probabilities = judged(true);
  EXPECT_EQ(logits.examples(), 50u);
  EXPECT_NEAR(logits.calibration().expected_error, probabilities.calibration().expected_error, 1e-6);
  EXPECT_GT(logits.calibration().expected_error, 0.01);
  EXPECT_EQ(logits.classes()[1].correct, probabilities.classes()[1].correct);
}

TEST(ClassAnswers, AreOfClassifiersAlone) {
  const Model model = planted_sum({8}, 2, 5);
  const LossSettings labels{.kind = Loss::softmax_cross_entropy, .target = TargetKind::labels},
      values{.kind = Loss::mean_squared_error, .target = TargetKind::values};
  EXPECT_TRUE(is_classifier(model, labels));
  EXPECT_FALSE(is_classifier(model, values));
  EXPECT_FALSE(says_a_number(model, values)) << "it says two";
}

}  // namespace
}  // namespace coterie::test
