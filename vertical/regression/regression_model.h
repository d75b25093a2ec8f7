// RegressionModel: a party's part of a regression, and what it says of rows.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie::vertical {

// A value v adds weight * (v - mean) / deviation, the quotient clipped to +-kColumnMax. A missing one adds nothing.
struct WeightedColumn {
  double mean = 0, deviation = 1, weight = 0;
  friend bool operator==(const WeightedColumn&, const WeightedColumn&) = default;
};

struct RegressionModel {
  std::vector<WeightedColumn> columns;  // as in the party's table
  double intercept = 0;                 // the label party's
  friend bool operator==(const RegressionModel&, const RegressionModel&) = default;
};

// Mean and deviation of each column over its rows ([column][row], NaN where there is no value), weights 0. A column
// without two different values has an infinite deviation: its values say nothing.
RegressionModel scale_columns(const std::vector<std::vector<float>>& columns);

// The clipped quotient; 0 for a missing value.
double standardised(const WeightedColumn& column, float value);

// For each row what this party adds to its margin, the intercept among it.
std::vector<double> partial_margins(const RegressionModel& model, const std::vector<std::vector<float>>& columns,
                                    size_t rows);

double sigmoid(double margin);

// "CVR1", the number of columns (4 bytes), the intercept, then each column's mean, deviation, weight; little-endian.
Bytes write_regression_model(const RegressionModel& model);
// `malformed`.
Result<RegressionModel> read_regression_model(ByteView bytes);

}  // namespace coterie::vertical
