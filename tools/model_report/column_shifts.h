// Robustness of a table's model: what it costs where one column is a little off, as by another instrument or unit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"
#include "tools/explain/feature_names.h"

namespace coterie {

inline constexpr double kColumnShift = 0.5;       // of the column's deviation
inline constexpr size_t kShiftedColumnsMax = 64;  // the first; the others are counted

struct ColumnShift {
  std::string column;
  double deviation = 0;   // over these examples, as the model sees the column
  Evaluation evaluation;  // the mean of all examples moved up, and all moved down
};

// Moves the first value of each of `columns` (number_features()) by kColumnShift of its standard deviation over the
// examples, one column at a time; columns that do not vary are left out. The largest loss first. The model has one
// float32 input of one row. Errors: Evaluator's and the source's.
Result<std::vector<ColumnShift>> shifted_columns(const Model& model, const LossSettings& loss, ExampleSource& examples,
                                                 std::span<const Feature> columns, uint64_t target_elements,
                                                 uint32_t threads);

}  // namespace coterie
