#include "vertical/regression/ring_plan.h"

#include <string>

namespace coterie::vertical {

Status check_regression_shape(const RegressionShape& shape) {
  const bool fits = shape.rows >= 1 && shape.rows <= kRegressionRowsMax && shape.label_columns >= 1 &&
                    shape.label_columns <= kRegressionColumnsMax && shape.feature_columns >= 1 &&
                    shape.feature_columns <= kRegressionColumnsMax &&
                    uint64_t{shape.rows} * shape.columns() <= kRegressionCellsMax &&
                    shape.batch >= kRegressionBatchMin && shape.batch <= kRegressionBatchMax && shape.epochs >= 1 &&
                    shape.epochs <= kRegressionEpochsMax;
  if (fits) return {};
  return Error(ErrorCode::invalid_argument,
               "regression: " + std::to_string(shape.rows) + " rows with " + std::to_string(shape.label_columns) +
                   " and " + std::to_string(shape.feature_columns) + " columns, in batches of " +
                   std::to_string(shape.batch) + " for " + std::to_string(shape.epochs) +
                   " epochs, are out of range: at most " + std::to_string(kRegressionRowsMax) + " rows, " +
                   std::to_string(kRegressionColumnsMax) + " columns of a party, " +
                   std::to_string(kRegressionCellsMax) + " values");
}

}  // namespace coterie::vertical
