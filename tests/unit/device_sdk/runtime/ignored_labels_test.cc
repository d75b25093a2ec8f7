// Labels to be ignored: no loss, no gradient, counted nowhere. The losses are those of PyTorch's cross_entropy(x,
// labels, weight, ignore_index=255, label_smoothing): the sum over the rows that are not ignored, divided by the sum of
// their labels' weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/measures.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

constexpr int32_t kIgnore = 255;
constexpr float kLogits[4][3] = {{0.5f, -1, 2}, {1, 1, 0}, {-0.25f, 0.25f, 0.125f}, {2, -2, 0}};
constexpr int32_t kLabels[4] = {2, kIgnore, 1, kIgnore};
constexpr double kMeanLoss = 0.57660169681211;

Examples four_rows() {
  Examples rows(4, 3, 3);
  for (uint64_t i = 0; i < 4; ++i) {
    for (size_t c = 0; c < 3; ++c) rows.set_feature(i, c, kLogits[i][c]);
    rows.set_label(i, kLabels[i]);
  }
  return rows;
}

// Gives what it is given.
Model identity() {
  ModelBuilder build("identity", {3}, 1);
  const std::vector<float> one = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  return load_or_die(build.finish(build.op(OpKind::dense, {build.input(), build.parameter("w", {3, 3}, one)})));
}

LossSettings ignoring(std::optional<int32_t> label = kIgnore) { return {.ignore_label = label}; }

TEST(IgnoredLabels, LeaveTheMeansOfPyTorch) {
  LossSettings weighted = ignoring(), smoothed = ignoring();
  weighted.class_weights = smoothed.class_weights = {1, 2, 0.5f};
  smoothed.label_smoothing = 0.1f;
  const std::pair<LossSettings, double> cases[] = {
      {ignoring(), kMeanLoss}, {weighted, 0.7777759369050818}, {smoothed, 0.8613145015837039}};
  for (const auto& [loss, expected] : cases) {
    for (const uint32_t batch : {4u, 3u}) {
      Examples rows = four_rows();
      Result<Evaluator> evaluator = Evaluator::create(identity(), loss, batch);
      ASSERT_OK(evaluator);
      const Result<Evaluation> evaluation = evaluator->run(identity().parameters(), rows);
      ASSERT_OK(evaluation);
      EXPECT_NEAR(evaluation->loss_mean, expected, 1e-6);
      EXPECT_EQ(evaluation->accuracy, 1) << "of the two that count";
      EXPECT_EQ(evaluation->examples, 4u);
    }
  }
}

std::vector<float> change_of(TrainOptions options, ExampleSource& examples, TrainingSummary* summary = nullptr) {
  const Model model = identity();
  options.optimizer = {.learning_rate = 1};
  options.batch_size = 4;
  Result<Trainer> trainer = Trainer::create(model, options, examples);
  EXPECT_OK(trainer);
  EXPECT_OK(trainer->step());
  if (summary != nullptr) *summary = trainer->summary();
  std::vector<float> delta(model.value_count());
  trainer->delta(delta);
  return delta;
}

TEST(IgnoredLabels, LeaveTheGradientOfTheOthers) {
  Examples others(2, 3, 3);
  for (uint64_t i = 0; i < 2; ++i) {
    for (size_t c = 0; c < 3; ++c) others.set_feature(i, c, kLogits[2 * i][c]);
    others.set_label(i, kLabels[2 * i]);
  }
  const std::vector<float> expected = change_of({}, others);
  for (const uint32_t micro : {0u, 2u, 1u}) {
    Examples rows = four_rows();
    TrainingSummary summary;
    const std::vector<float> change = change_of({.loss = ignoring(), .micro_batch_size = micro}, rows, &summary);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(change[i], expected[i], 1e-6) << i;
    EXPECT_NEAR(summary.loss_sum / 4, kMeanLoss, 1e-6);
    EXPECT_EQ(summary.rows, 2u);
    EXPECT_EQ(summary.correct, 2u);
  }
}

TEST(IgnoredLabels, AloneAreNoLossAndNoStep) {
  Examples rows = four_rows();
  for (uint64_t i = 0; i < 4; ++i) rows.set_label(i, kIgnore);
  for (const uint32_t micro : {0u, 2u}) {
    TrainingSummary summary;
    const std::vector<float> change = change_of({.loss = ignoring(), .micro_batch_size = micro}, rows, &summary);
    EXPECT_TRUE(std::ranges::all_of(change, [](float value) { return value == 0; }));
    EXPECT_EQ(summary.loss_sum, 0);
    EXPECT_EQ(summary.rows, 0u);
  }
  Result<Evaluator> evaluator = Evaluator::create(identity(), ignoring(), 4);
  ASSERT_OK(evaluator);
  const Result<Evaluation> evaluation = evaluator->run(identity().parameters(), rows);
  ASSERT_OK(evaluation);
  EXPECT_EQ(evaluation->loss_mean, 0);
  EXPECT_EQ(evaluation->accuracy, 0);
}

TEST(IgnoredLabels, MayBeAClassAndAreNoMeasure) {
  Examples rows = four_rows();
  for (const uint64_t i : {1u, 3u}) rows.set_label(i, 0);
  const std::vector<std::string> names = {"recall", "top-1"};
  MeasureCollector collector(ignoring(0), 3, names);
  Result<Evaluator> evaluator = Evaluator::create(identity(), ignoring(0), 4);
  ASSERT_OK(evaluator);
  const OutputSink sink = [&](auto outputs, auto targets) { collector.add(outputs, targets); };
  const Result<Evaluation> evaluation = evaluator->run(identity().parameters(), rows, sink);
  ASSERT_OK(evaluation);
  EXPECT_NEAR(evaluation->loss_mean, kMeanLoss, 1e-6);
  for (const std::string& name : names) EXPECT_EQ(*collector.value_of(name, *evaluation), 1) << name;
}

TEST(IgnoredLabels, AreRememberedByACheckpoint) {
  const TemporaryDirectory folder;
  Examples rows = four_rows();
  TrainOptions options{.loss = ignoring(), .batch_size = 3, .epochs = 2};
  Result<Trainer> trainer = Trainer::create(identity(), options, rows);
  ASSERT_OK(trainer);
  for (int i = 0; i < 3; ++i) ASSERT_OK(trainer->step());
  ASSERT_OK(trainer->save_checkpoint(folder / "ck"));
  Result<Trainer> again = Trainer::create(identity(), options, rows);
  ASSERT_OK(again);
  ASSERT_OK(again->restore_checkpoint(folder / "ck"));
  EXPECT_EQ(again->summary(), trainer->summary());
  EXPECT_EQ(again->epoch_start(), trainer->epoch_start());
  EXPECT_EQ(trainer->epoch_start().rows, 2u);
  options.loss.ignore_label = 254;
  Result<Trainer> other = Trainer::create(identity(), options, rows);
  ASSERT_OK(other);
  EXPECT_ERROR(other->restore_checkpoint(folder / "ck"), ErrorCode::conflict, "ignore_label");
  EXPECT_ERROR(other->step(), ErrorCode::invalid_argument, "label outside");
}

TEST(IgnoredLabels, BelongToLossesByClass) {
  Examples rows = four_rows();
  const LossSettings refused[] = {{.kind = Loss::mean_squared_error, .ignore_label = 1},
                                  {.kind = Loss::binary_cross_entropy, .ignore_label = 1},
                                  {.target = TargetKind::values, .ignore_label = 1}};
  for (const LossSettings& loss : refused) {
    EXPECT_ERROR(Trainer::create(identity(), {.loss = loss}, rows), ErrorCode::invalid_argument, "ignore_label is of");
  }
  EXPECT_EQ(*parse_ignore_label("-100"), -100);
  for (const char* text : {"", "1.5", "x", "4294967296", "1 "}) EXPECT_FALSE(parse_ignore_label(text)) << text;
}

}  // namespace
}  // namespace coterie::test
