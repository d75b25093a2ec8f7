// Columns that are off cost what the model makes of them.
#include "tools/model_report/column_shifts.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/tools/explain/planted_models.h"

namespace coterie::test {
namespace {

const LossSettings kLabels = {.kind = Loss::softmax_cross_entropy, .target = TargetKind::labels};

TEST(ColumnShifts, AreOfEachColumnByItsOwnDeviation) {
  Examples examples(40, 8, 2);
  for (uint64_t i = 0; i < examples.size(); ++i) {
    examples.set_feature(i, 2, i % 2 == 0 ? 1.0f : 5.0f);  // deviation 2
    examples.set_feature(i, 5, 3);                         // none
    examples.set_label(i, 0);
  }
  const Result<std::vector<ColumnShift>> made =
      shifted_columns(planted_sum({8}, 2, 5), kLabels, examples, features_of({8}, nullptr), 1, 1);
  ASSERT_OK(made);
  ASSERT_EQ(made->size(), 7u) << "a column that does not vary is left out";
  EXPECT_EQ(made->front().column, "x3") << "the one that the model reads costs most";
  EXPECT_NEAR(made->front().deviation, 2, 1e-6);
  // Half a deviation is 1: margins 3 x + (-2) 3 + 5 of x in {1, 5}, up and down by 3.
  const auto loss = [](double margin) { return std::log1p(std::exp(-margin)); };
  EXPECT_NEAR(made->front().evaluation.loss_mean, (loss(-1) + loss(5) + loss(11) + loss(17)) / 4, 1e-5);
  EXPECT_DOUBLE_EQ(made->front().evaluation.accuracy, 0.75);
  for (size_t i = 1; i < made->size(); ++i) {
    EXPECT_NEAR((*made)[i].evaluation.loss_mean, (loss(2) + loss(14)) / 2, 1e-5) << (*made)[i].column;
  }
}

TEST(ColumnShifts, OfManyColumnsTheFirstAreTried) {
  Examples examples(4, kShiftedColumnsMax + 9, 2);
  const Shape shape = {static_cast<int64_t>(kShiftedColumnsMax) + 9};
  const Result<std::vector<ColumnShift>> made =
      shifted_columns(planted_sum(shape, 2, 5), kLabels, examples, features_of(shape, nullptr), 1, 1);
  ASSERT_OK(made);
  EXPECT_EQ(made->size(), kShiftedColumnsMax);
}

}  // namespace
}  // namespace coterie::test
