#include "vertical/split/split_columns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace coterie::vertical {
namespace {

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, "split: " + what); }

Status check_columns(const std::vector<std::vector<float>>& columns, size_t rows) {
  if (columns.size() > kSplitColumnsMax) return wrong("more than " + std::to_string(kSplitColumnsMax) + " columns");
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].size() != rows || rows > kSplitRowsMax) {
      return wrong("column " + std::to_string(c) + " has " + std::to_string(columns[c].size()) + " rows, expected " +
                   std::to_string(rows) + ", at most " + std::to_string(kSplitRowsMax));
    }
    for (size_t row = 0; row < rows; ++row) {
      if (std::isinf(columns[c][row])) {
        return wrong("column " + std::to_string(c) + ", row " + std::to_string(row) + " is infinite");
      }
    }
  }
  return {};
}

SplitColumn scaled(const std::vector<float>& values) {
  double sum = 0, count = 0, squares = 0;
  for (const float value : values) {
    if (std::isnan(value)) continue;
    sum += double{value};
    ++count;
  }
  SplitColumn column{.mean = count == 0 ? 0 : sum / count, .deviation = 1, .cuts = {}};
  for (const float value : values) {
    if (!std::isnan(value)) squares += (double{value} - column.mean) * (double{value} - column.mean);
  }
  column.deviation = squares > 0 ? std::sqrt(squares / count) : std::numeric_limits<double>::infinity();
  return column;
}

// Exact quantiles, each once, without the least.
SplitColumn bucketed(const std::vector<float>& values, uint32_t buckets) {
  std::vector<float> sorted;
  std::ranges::copy_if(values, std::back_inserter(sorted), [](float value) { return !std::isnan(value); });
  std::ranges::sort(sorted);
  SplitColumn column;
  for (uint64_t k = 1; k < buckets && !sorted.empty(); ++k) {
    const float cut = sorted[(k * sorted.size() + buckets - 1) / buckets - 1];
    if (cut > (column.cuts.empty() ? sorted.front() : column.cuts.back())) column.cuts.push_back(cut);
  }
  return column;
}

float number_of(const SplitColumn& column, float value) {
  if (std::isnan(value)) return 0;
  const auto scaled_value = static_cast<float>((double{value} - column.mean) / column.deviation);
  return std::clamp(scaled_value, -kSplitNumberMax, kSplitNumberMax);
}

uint32_t bucket_of(const SplitColumn& column, float value) {
  if (std::isnan(value)) return 0;
  return 1 + static_cast<uint32_t>(std::ranges::upper_bound(column.cuts, value) - column.cuts.begin());
}

}  // namespace

uint32_t ColumnSchema::categories_in_all() const { return std::accumulate(categories.begin(), categories.end(), 0u); }

std::vector<float> SplitInputs::gather(std::span<const uint32_t> of_rows) const {
  std::vector<float> gathered;
  gathered.reserve(of_rows.size() * schema.columns);
  for (const uint32_t row : of_rows) {
    const auto from = values.begin() + static_cast<ptrdiff_t>(size_t{row} * schema.columns);
    gathered.insert(gathered.end(), from, from + static_cast<ptrdiff_t>(schema.columns));
  }
  return gathered;
}

ColumnSchema SplitColumns::schema() const {
  ColumnSchema schema{.is_coded = is_coded, .columns = static_cast<uint32_t>(columns.size()), .categories = {}};
  if (!is_coded) return schema;
  for (const SplitColumn& column : columns) schema.categories.push_back(static_cast<uint32_t>(column.cuts.size() + 2));
  return schema;
}

Result<SplitColumns> fit_columns(const std::vector<std::vector<float>>& columns, const SplitSettings& settings) {
  COT_TRY(check_columns(columns, columns.empty() ? 0 : columns[0].size()));
  SplitColumns fitted{.is_coded = settings.network != SplitNetwork::mlp, .columns = {}};
  for (const std::vector<float>& values : columns) {
    fitted.columns.push_back(fitted.is_coded ? bucketed(values, settings.buckets) : scaled(values));
  }
  return fitted;
}

Result<SplitInputs> encode_columns(const SplitColumns& fitted, const std::vector<std::vector<float>>& columns,
                                   uint32_t rows) {
  if (columns.size() != fitted.columns.size()) {
    return wrong(std::to_string(columns.size()) + " columns, expected " + std::to_string(fitted.columns.size()));
  }
  COT_TRY(check_columns(columns, rows));
  SplitInputs inputs{.schema = fitted.schema(), .rows = rows, .values = {}};
  inputs.values.resize(size_t{rows} * columns.size());
  uint32_t first = 0;  // code of the column
  for (size_t c = 0; c < columns.size(); ++c) {
    for (size_t row = 0; row < rows; ++row) {
      const float value = columns[c][row];
      inputs.values[row * columns.size() + c] =
          fitted.is_coded ? std::bit_cast<float>(static_cast<int32_t>(first + bucket_of(fitted.columns[c], value)))
                          : number_of(fitted.columns[c], value);
    }
    if (fitted.is_coded) first += inputs.schema.categories[c];
  }
  return inputs;
}

void write_split_columns(const SplitColumns& columns, WireWriter& writer) {
  writer.u32(columns.is_coded ? 1 : 0);
  writer.u32(static_cast<uint32_t>(columns.columns.size()));
  for (const SplitColumn& column : columns.columns) {
    writer.f64(column.mean);
    writer.f64(column.deviation);
    writer.u32(static_cast<uint32_t>(column.cuts.size()));
    for (const float cut : column.cuts) writer.f32(cut);
  }
}

Result<SplitColumns> read_split_columns(WireReader& reader) {
  const Error malformed(ErrorCode::malformed, "split: these bytes are no columns");
  const uint32_t coded = reader.u32(), count = reader.u32();
  if (!reader.ok() || coded > 1 || count > kSplitColumnsMax) return malformed;
  SplitColumns columns{.is_coded = coded == 1, .columns = {}};
  for (uint32_t i = 0; i < count; ++i) {
    SplitColumn column{.mean = reader.f64(), .deviation = reader.f64(), .cuts = {}};
    const uint32_t cuts = reader.u32();
    if (!reader.ok() || !std::isfinite(column.mean) || !(column.deviation > 0) || cuts >= kSplitBucketsMax) {
      return malformed;
    }
    for (uint32_t k = 0; k < cuts; ++k) {
      const float cut = reader.f32();
      if (!std::isfinite(cut) || (k > 0 && cut <= column.cuts.back())) return malformed;
      column.cuts.push_back(cut);
    }
    columns.columns.push_back(std::move(column));
  }
  if (!reader.ok()) return malformed;
  return columns;
}

}  // namespace coterie::vertical
