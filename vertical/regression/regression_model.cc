#include "vertical/regression/regression_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.h"
#include "vertical/regression/ring_plan.h"
#include "vertical/stage/wire.h"

namespace coterie::vertical {
namespace {

constexpr std::array<uint8_t, 4> kModelMagic{'C', 'V', 'R', '1'};
constexpr size_t kColumnBytes = 3 * sizeof(double);

WeightedColumn scale_column(const std::vector<float>& values) {
  double sum = 0, count = 0, squares = 0;
  for (const float value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  WeightedColumn column;
  column.mean = count == 0 ? 0 : sum / count;
  for (const float value : values) {
    if (!std::isnan(value)) squares += (value - column.mean) * (value - column.mean);
  }
  column.deviation = squares > 0 ? std::sqrt(squares / count) : std::numeric_limits<double>::infinity();
  return column;
}

}  // namespace

RegressionModel scale_columns(const std::vector<std::vector<float>>& columns) {
  RegressionModel model;
  for (const std::vector<float>& values : columns) model.columns.push_back(scale_column(values));
  return model;
}

double standardised(const WeightedColumn& column, float value) {
  if (std::isnan(value)) return 0;
  return std::clamp((value - column.mean) / column.deviation, -kColumnMax, kColumnMax);
}

std::vector<double> partial_margins(const RegressionModel& model, const std::vector<std::vector<float>>& columns,
                                    size_t rows) {
  COT_ASSERT(columns.size() == model.columns.size());
  std::vector<double> margins(rows, model.intercept);
  for (size_t c = 0; c < columns.size(); ++c) {
    for (size_t row = 0; row < rows; ++row) {
      margins[row] += model.columns[c].weight * standardised(model.columns[c], columns[c][row]);
    }
  }
  return margins;
}

double sigmoid(double margin) { return 1 / (1 + std::exp(-margin)); }

Bytes write_regression_model(const RegressionModel& model) {
  WireWriter writer;
  writer.raw(kModelMagic);
  writer.u32(static_cast<uint32_t>(model.columns.size()));
  writer.f64(model.intercept);
  for (const WeightedColumn& column : model.columns) {
    for (const double number : {column.mean, column.deviation, column.weight}) writer.f64(number);
  }
  return writer.take();
}

Result<RegressionModel> read_regression_model(ByteView bytes) {
  const Error wrong(ErrorCode::malformed, "regression: these bytes are no part of a model");
  WireReader reader(bytes);
  if (!std::ranges::equal(reader.raw(kModelMagic.size()), kModelMagic)) return wrong;
  const uint64_t count = reader.u32();
  RegressionModel model{.columns = {}, .intercept = reader.f64()};
  if (count > kRegressionColumnsMax || reader.rest().size() != kColumnBytes * count) return wrong;
  for (uint64_t c = 0; c < count; ++c) {
    const WeightedColumn column{.mean = reader.f64(), .deviation = reader.f64(), .weight = reader.f64()};
    if (!std::isfinite(column.mean) || !(column.deviation > 0) || !std::isfinite(column.weight)) return wrong;
    model.columns.push_back(column);
  }
  if (!reader.ended() || !std::isfinite(model.intercept)) return wrong;
  return model;
}

}  // namespace coterie::vertical
