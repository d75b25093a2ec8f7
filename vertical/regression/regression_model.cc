#include "vertical/regression/regression_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/assert.h"
#include "vertical/regression/ring_plan.h"

namespace coterie::vertical {
namespace {

constexpr std::array<uint8_t, 4> kModelMagic{'C', 'V', 'R', '1'};
constexpr size_t kModelHeaderBytes = 8;

void append_double(Bytes& to, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) to.push_back(static_cast<uint8_t>(bits >> shift));
}

double double_at(ByteView bytes, size_t at) {
  uint64_t bits = 0;
  for (size_t i = 0; i < 8; ++i) bits |= uint64_t{bytes[at + i]} << (8 * i);
  return std::bit_cast<double>(bits);
}

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
  Bytes bytes(kModelMagic.begin(), kModelMagic.end());
  const auto count = static_cast<uint32_t>(model.columns.size());
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint8_t>(count >> shift));
  append_double(bytes, model.intercept);
  for (const WeightedColumn& column : model.columns) {
    append_double(bytes, column.mean);
    append_double(bytes, column.deviation);
    append_double(bytes, column.weight);
  }
  return bytes;
}

Result<RegressionModel> read_regression_model(ByteView bytes) {
  const Error wrong(ErrorCode::malformed, "regression: these bytes are no part of a model");
  if (bytes.size() < kModelHeaderBytes || !std::ranges::equal(bytes.first(4), kModelMagic)) return wrong;
  uint64_t count = 0;
  for (size_t i = 0; i < 4; ++i) count |= uint64_t{bytes[4 + i]} << (8 * i);
  if (count > kRegressionColumnsMax || bytes.size() != kModelHeaderBytes + 8 + 24 * count) return wrong;
  RegressionModel model;
  model.intercept = double_at(bytes, kModelHeaderBytes);
  for (size_t c = 0; c < count; ++c) {
    const size_t at = kModelHeaderBytes + 8 + 24 * c;
    const WeightedColumn column{
        .mean = double_at(bytes, at), .deviation = double_at(bytes, at + 8), .weight = double_at(bytes, at + 16)};
    if (!std::isfinite(column.mean) || !(column.deviation > 0) || !std::isfinite(column.weight)) return wrong;
    model.columns.push_back(column);
  }
  if (!std::isfinite(model.intercept)) return wrong;
  return model;
}

}  // namespace coterie::vertical
