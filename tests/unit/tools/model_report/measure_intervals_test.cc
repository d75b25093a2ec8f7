// Intervals of a report's figures: which there are, and what they are made of.
#include "tools/model_report/measure_intervals.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/tools/explain/planted_models.h"
#include "tools/compare/rank_area.h"

namespace coterie::test {
namespace {

TEST(MeasureIntervals, AreOfExamples) {
  const Model model = planted_sum({8}, 2, 5);
  Examples examples(80, 8, 2);
  std::optional<ExampleScores> scores = ExampleScores::of(model, {}, 1);
  ASSERT_TRUE(scores);
  const auto shown = [&scores](auto outputs, auto targets) { scores->add(outputs, targets); };
  const Result<Measured> measured = measure(model, examples, {}, {"auc", "perplexity", "f1"}, 1, 1, shown);
  ASSERT_OK(measured);
  const std::vector<MeasureInterval> intervals =
      measure_intervals(*scores, measured->evaluation, measured->measures, {60, 80}, 1);
  ASSERT_EQ(intervals.size(), 4u) << "f1 has none";
  const MeanInterval loss = mean_interval(scores->losses());
  EXPECT_DOUBLE_EQ(find_interval(intervals, "loss")->high, loss.mean + *loss.half_width);
  EXPECT_DOUBLE_EQ(find_interval(intervals, "perplexity")->high, std::exp(loss.mean + *loss.half_width));
  EXPECT_DOUBLE_EQ(find_interval(intervals, "accuracy")->low, wilson_interval({60, 80}).low);
  EXPECT_DOUBLE_EQ(find_interval(intervals, "auc")->low, rank_area(scores->margins(1), scores->margins(0))->low);
  EXPECT_EQ(find_interval(intervals, "f1"), nullptr);
  const Evaluation other{.examples = 80, .loss_mean = 2 * loss.mean};
  EXPECT_EQ(find_interval(measure_intervals(*scores, other, {}, {}, 1), "loss"), nullptr) << "of another loss";
}

TEST(MeasureIntervals, OfNumbersAreInTheirUnit) {
  ModelBuilder build("number", {1}, 1);
  const Model model = load_or_die(build.finish(build.dense(build.input(), 1)));
  const LossSettings loss{.kind = Loss::mean_squared_error, .target = TargetKind::values};
  std::optional<ExampleScores> scores = ExampleScores::of(model, loss, 1);
  ASSERT_TRUE(scores);
  const std::vector<float> said = {1, 2, 3}, targets = {2, 4, 6};  // off by 1, 2 and 3
  scores->add(said, targets);
  const Measure measures[] = {{"mae", 20}, {"rmse", 10 * std::sqrt(14.0 / 3)}, {"r2", 0}};
  const auto intervals = measure_intervals(*scores, {.examples = 3, .loss_mean = 14.0 / 3}, measures, {}, 10);
  EXPECT_NEAR(find_interval(intervals, "mae")->high, 10 * (2 + 4.303 / std::sqrt(3.0)), 1e-9);
  EXPECT_EQ(find_interval(intervals, "rmse")->low, 0) << "no error is below nothing";
  EXPECT_GT(find_interval(intervals, "rmse")->high, 10 * std::sqrt(14.0 / 3));
  EXPECT_EQ(find_interval(intervals, "r2"), nullptr);
}

}  // namespace
}  // namespace coterie::test
