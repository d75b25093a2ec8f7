// What devices find of a model's columns, against `coterie model explain --method permutation` on one machine.
#include <gmock/gmock.h>

#include <algorithm>

#include "device_sdk/agent/evaluate_examples.h"
#include "device_sdk/runtime/train_options.h"
#include "proto/messages/analytics_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/evaluation_result.h"
#include "tests/unit/tools/explain/planted_models.h"
#include "tools/explain/permutation_importance.h"

namespace coterie::test {
namespace {

constexpr uint32_t kFeatures = 6, kRepeats = 4;
constexpr size_t kStrong = 2, kWeak = 5, kNoise = 0, kUnread = 1;
const LossSettings kLabels = {.kind = Loss::softmax_cross_entropy, .target = TargetKind::labels};

// Reads one feature much, one less, and one a little that says nothing of the label.
Model planted() {
  ModelBuilder build("planted", {kFeatures}, 1);
  std::vector<float> weights(2 * kFeatures);
  weights[2 * kStrong] = 3;
  weights[2 * kWeak] = -1;
  weights[2 * kNoise] = 0.4f;
  return load_or_die(build.finish(build.op(OpKind::dense, {build.input(), build.parameter("w", {kFeatures, 2}, weights),
                                                           build.parameter("b", {2}, {0, 0})})));
}

// Those of one device: its features lie around a place of its own.
Examples examples_of(uint32_t device, size_t count) {
  Examples examples(count, kFeatures, 2);
  Prng prng(100 + device);
  const double place = prng.normal() / 2;
  for (uint64_t i = 0; i < count; ++i) {
    double x[kFeatures];
    for (size_t feature = 0; feature < kFeatures; ++feature) {
      x[feature] = place + prng.normal();
      examples.set_feature(i, feature, static_cast<float>(x[feature]));
    }
    const double sum = 3 * x[kStrong] - x[kWeak] + prng.normal();
    examples.set_label(i, sum > 0 ? 0 : 1);
  }
  return examples;
}

AnalyticsSettings permuting(uint32_t values_max) {
  AnalyticsSettings analytics;
  analytics.rules = {.kind = AnalyticsKind::evaluation,
                     .input_values = kFeatures,
                     .values_max = values_max,
                     .lane_max = evaluation_lane_max(values_max),
                     .evaluation = EvaluationRules{.models = {{Digest{{1}}, 9}}, .importance = ImportanceRules{}}};
  ImportanceRules& rules = *analytics.rules.evaluation->importance;
  rules.repeats = kRepeats;
  for (uint32_t feature = 0; feature < kFeatures; ++feature) {
    rules.columns.push_back({feature, 1});
    analytics.permuted.push_back("x" + std::to_string(feature));
  }
  analytics.classes = {"no", "yes"};
  return analytics;
}

std::vector<float> lanes_of(const AnalyticsSettings& analytics, Examples& examples, uint64_t seed) {
  const Model model = planted();
  Result<ExampleEvaluator> evaluator =
      ExampleEvaluator::create(rules_of(analytics), {&model, 1}, examples.size(), seed);
  EXPECT_OK(evaluator);
  while (!evaluator->finished()) EXPECT_OK(evaluator->step(examples));
  return evaluator->lanes();
}

PermutationImportance on_one_machine(Examples& examples, uint64_t seed) {
  const std::vector<Feature> features = features_of({kFeatures}, nullptr);
  Result<PermutationImportance> made = permutation_importance(planted(), kLabels, examples, features, kRepeats, seed);
  EXPECT_OK(made);
  return *made;
}

TEST(DeviceImportance, OfOneDeviceIsThatOfOneMachine) {
  const AnalyticsSettings analytics = permuting(500);
  Examples examples = examples_of(0, 500);
  for (const uint64_t seed : {1, 2}) {
    const PermutationImportance whole = on_one_machine(examples, seed);
    const EvaluationResult result = evaluation_result_of(analytics, lanes_of(analytics, examples, seed));
    const std::vector<ColumnImportance>& found = result.models[0].importance;
    ASSERT_EQ(found.size(), kFeatures);
    for (size_t i = 0; i < kFeatures; ++i) {
      EXPECT_NEAR(found[i].loss_rise->value, whole.features[i].loss_rise, 1e-5) << i;
      EXPECT_NEAR(found[i].error_rise->value, whole.features[i].error_rise, 1e-12) << i;
      EXPECT_FALSE(found[i].loss_rise->low) << "one device does not say how far others differ";
    }
    EXPECT_GT(found[kStrong].loss_rise->value, found[kWeak].loss_rise->value);
    EXPECT_GT(found[kWeak].loss_rise->value, found[kNoise].loss_rise->value);
    EXPECT_EQ(found[kUnread].loss_rise->value, 0);
  }
}

// Sums of tables are means weighted by examples, and their intervals say which columns are worth something.
TEST(DeviceImportance, OfManyDevicesIsTheirMeanWeightedByExamples) {
  constexpr uint32_t kDevices = 30;
  const AnalyticsSettings analytics = permuting(120);
  std::vector<float> table(lane_count(rules_of(analytics)));
  std::vector<double> loss(kFeatures), errors(kFeatures);
  double all = 0;
  for (uint32_t device = 0; device < kDevices; ++device) {
    const size_t count = 1 + 4 * device;
    Examples examples = examples_of(device, count);
    const std::vector<float> lanes = lanes_of(analytics, examples, device);
    std::ranges::transform(lanes, table, table.begin(), std::plus());
    const PermutationImportance own = on_one_machine(examples, device);
    const auto weight = static_cast<double>(count);
    for (size_t i = 0; i < kFeatures; ++i) {
      loss[i] += weight * own.features[i].loss_rise;
      errors[i] += weight * own.features[i].error_rise;
    }
    all += weight;
  }
  const EvaluationResult result = evaluation_result_of(analytics, table);
  const std::vector<ColumnImportance>& found = result.models[0].importance;
  ASSERT_EQ(result.models[0].all.examples, all);
  for (size_t i = 0; i < kFeatures; ++i) {
    EXPECT_NEAR(found[i].loss_rise->value, loss[i] / all, 1e-4) << i;
    EXPECT_NEAR(found[i].error_rise->value, errors[i] / all, 1e-12) << i;
  }
  for (const size_t read : {kStrong, kWeak}) EXPECT_GT(*found[read].loss_rise->low, 0) << read;
  EXPECT_LT(*found[kNoise].loss_rise->low, 0) << "noise";
  EXPECT_GT(*found[kNoise].loss_rise->high, 0) << "noise";
  EXPECT_EQ(found[kUnread].loss_rise->value, 0);
  EXPECT_FALSE(found[kUnread].loss_rise->low) << "devices do not differ in it";
}

// Numbers of one column move together; a model that reads two of them loses more than by either.
TEST(DeviceImportance, PermutesTheNumbersOfAColumnTogether) {
  AnalyticsSettings analytics = permuting(200);
  Examples examples = examples_of(3, 200);
  analytics.rules.evaluation->importance->columns = {{kStrong, 1}, {kStrong, 4}};
  analytics.permuted = {"one", "both"};
  const EvaluationResult result = evaluation_result_of(analytics, lanes_of(analytics, examples, 1));
  const std::vector<ColumnImportance>& found = result.models[0].importance;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].name, "both");
  EXPECT_GT(found[1].loss_rise->value, found[0].loss_rise->value);
}

// A device stops between any two batches of answers, and has begun nothing that it does not end.
TEST(DeviceImportance, TakesAStepForEachBatchOfAnswers) {
  const AnalyticsSettings analytics = permuting(40);
  Examples examples = examples_of(4, 1000);
  const Model model = planted();
  Result<ExampleEvaluator> evaluator = ExampleEvaluator::create(rules_of(analytics), {&model, 1}, examples.size(), 1);
  ASSERT_OK(evaluator);
  int steps = 0;
  for (; !evaluator->finished(); ++steps) ASSERT_OK(evaluator->step(examples));
  EXPECT_EQ(steps, 3 * (1 + static_cast<int>(kFeatures * kRepeats))) << "40 examples are three batches";
  Examples none(0, kFeatures, 2);
  EXPECT_EQ(lanes_of(analytics, none, 1), std::vector<float>(lane_count(rules_of(analytics))));
}

}  // namespace
}  // namespace coterie::test
