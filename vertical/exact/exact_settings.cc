#include "vertical/exact/exact_settings.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace coterie::vertical {
namespace {

Error too_few(const std::string& what, uint32_t rows, uint32_t least, uint32_t feature_columns) {
  return Error(ErrorCode::refused,
               "regression: " + what + " has " + std::to_string(rows) + " people, expected at least " +
                   std::to_string(least) + " beside " + std::to_string(feature_columns) +
                   " columns of the feature party: its gradients would tell the labels",
               "batch_reveals_labels");
}

}  // namespace

uint32_t exact_rows_min(uint32_t feature_columns) {
  // A fixed point: log2 grows so slowly that each round adds less than the one before.
  double least = kExactBitsLeft;
  for (double before = 0; least != before;) {
    before = least;
    least = std::ceil(feature_columns * (kExactColumnBits + std::log2(least) / 2 + 1.05)) + kExactBitsLeft;
  }
  return static_cast<uint32_t>(least);
}

Status check_exact_table(uint32_t rows, uint32_t feature_columns, const RegressionSettings& settings) {
  const uint32_t least = exact_rows_min(feature_columns), first = std::min(rows, settings.batch);
  if (first < least) return too_few("a batch", first, least, feature_columns);
  return {};
}

Status check_exact_batches(uint32_t rows, uint32_t label_columns, uint32_t feature_columns,
                           const RegressionSettings& settings) {
  COT_TRY(check_regression_settings(settings));
  const RegressionShape shape{.rows = rows,
                              .label_columns = label_columns,
                              .feature_columns = feature_columns,
                              .batch = settings.batch,
                              .epochs = settings.epochs};
  COT_TRY(check_regression_shape(shape));
  COT_TRY(check_exact_table(rows, feature_columns, settings));
  const RingPlan plan(shape);
  const uint32_t least = exact_rows_min(feature_columns), last = plan.rows_of(plan.batches() - 1);
  if (last < least) {
    return too_few(
        "the last batch of " + std::to_string(rows) + " people in batches of " + std::to_string(settings.batch), last,
        least, feature_columns);
  }
  return {};
}

}  // namespace coterie::vertical
