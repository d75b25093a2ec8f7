#include "device_sdk/runtime/metrics.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "device_sdk/runtime/measures.h"

namespace coterie::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void add(ClassMetrics& metrics, std::initializer_list<float> scores, uint32_t label) {
  metrics.add(std::vector<float>(scores), label);
}

// Labels 0 0 1 1 2, predictions 0 1 1 1 0. By hand: precision 1/2, 2/3, 0; recall 1/2, 1, 0; F1 1/2, 4/5, 0.
// sklearn.metrics.precision_recall_fscore_support(average="macro", zero_division=0) gives the same.
TEST(ClassMetrics, AreMeansOverTheClasses) {
  ClassMetrics metrics(3, 2);
  add(metrics, {3, 1, 2}, 0);
  add(metrics, {2, 3, 1}, 0);
  add(metrics, {1, 3, 2}, 1);
  add(metrics, {0, 1, 0}, 1);
  add(metrics, {3, 2, 1}, 2);
  EXPECT_EQ(metrics.rows(), 5u);
  EXPECT_DOUBLE_EQ(metrics.accuracy(), 3.0 / 5);
  EXPECT_DOUBLE_EQ(metrics.top_k_accuracy(), 4.0 / 5);
  EXPECT_DOUBLE_EQ(metrics.macro().precision, (1.0 / 2 + 2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(metrics.macro().recall, (1.0 / 2 + 1) / 3);
  EXPECT_DOUBLE_EQ(metrics.macro().f1, (1.0 / 2 + 4.0 / 5) / 3);
  EXPECT_FALSE(metrics.auc());
}

TEST(ClassMetrics, LeaveOutClassesThatNeverOccur) {
  ClassMetrics metrics(100, 1);
  std::vector<float> scores(100);
  scores[7] = 1;
  metrics.add(scores, 7);
  EXPECT_EQ(metrics.macro().f1, 1);
}

TEST(ClassMetrics, TakeTheFirstOfEqualScoresAndNanForTheSmallest) {
  ClassMetrics ties(3, 2);
  add(ties, {1, 1, 1}, 0);
  add(ties, {1, 1, 1}, 1);
  add(ties, {1, 1, 1}, 2);
  EXPECT_DOUBLE_EQ(ties.accuracy(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(ties.top_k_accuracy(), 2.0 / 3);
  ClassMetrics broken(3, 1);
  add(broken, {kNan, -5, kNan}, 1);
  add(broken, {kNan, -5, kNan}, 0);
  EXPECT_DOUBLE_EQ(broken.accuracy(), 1.0 / 2);
  EXPECT_DOUBLE_EQ(broken.top_k_accuracy(), 1.0 / 2);
}

// Scores .1 (0), .4 (0), .35 (1), .8 (1): three of the four pairs are in order. The example of roc_auc_score.
TEST(ClassMetrics, AucCountsThePairsInOrder) {
  ClassMetrics metrics(2, 1);
  add(metrics, {0, 0.1f}, 0);
  add(metrics, {0, 0.4f}, 0);
  EXPECT_FALSE(metrics.auc());  // a class is missing
  add(metrics, {0, 0.35f}, 1);
  add(metrics, {0, 0.8f}, 1);
  EXPECT_DOUBLE_EQ(metrics.auc().value(), 0.75);
  add(metrics, {0, 0.4f}, 1);  // half a pair with the 0 of 0.4, a whole one with that of 0.1
  EXPECT_DOUBLE_EQ(metrics.auc().value(), 4.5 / 6);
  add(metrics, {0, kNan}, 1);
  EXPECT_FALSE(metrics.auc());
}

TEST(ClassMetrics, AreZeroWithoutRows) {
  const ClassMetrics metrics(2, 1);
  EXPECT_EQ(metrics.accuracy(), 0);
  EXPECT_EQ(metrics.top_k_accuracy(), 0);
  EXPECT_EQ(metrics.macro().f1, 0);
}

TEST(ValueMetrics, AreMeansOfDifferences) {
  ValueMetrics metrics;
  EXPECT_EQ(metrics.root_mean_squared_error(), 0);
  metrics.add(3, -0.5f);
  metrics.add(0, 0.5f);
  metrics.add(2, 2);
  metrics.add(7, 8);
  EXPECT_EQ(metrics.values(), 4u);
  EXPECT_DOUBLE_EQ(metrics.mean_absolute_error(), 5.0 / 4);
  EXPECT_DOUBLE_EQ(metrics.root_mean_squared_error(), std::sqrt(13.5 / 4));
}

// The L1 loss of labels has one for each element, which no row of scores stands beside.
TEST(Measures, OfALabelAnElementAreThoseOfNumbers) {
  const std::vector<std::string> names = {"mae"};
  MeasureCollector collector({.kind = Loss::l1}, 2, names);
  std::vector<float> labels;
  for (const int32_t label : {3, 7, 0, 1}) labels.push_back(std::bit_cast<float>(label));
  collector.add(std::vector<float>{3, 6, 2, 1}, labels);
  EXPECT_DOUBLE_EQ(*collector.value_of("mae", {}), 3.0 / 4);
  EXPECT_FALSE(collector.value_of("recall", {}));
}

TEST(Perplexity, IsTheNumberOfEquallyLikelyChoices) { EXPECT_NEAR(perplexity(std::log(27.0)), 27, 1e-12); }

}  // namespace
}  // namespace coterie::test
