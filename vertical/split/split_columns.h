// SplitColumns: how a party's columns become a network's inputs: numbers of mean 0 and deviation 1, or buckets. What it
// takes from the rows stays at the party.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "vertical/split/split_settings.h"

namespace coterie::vertical {

// What a network's first layer must know of its columns.
struct ColumnSchema {
  bool is_coded = false;  // int32 codes, not numbers
  uint32_t columns = 0;
  std::vector<uint32_t> categories;  // of a coded one, one entry a column

  uint32_t categories_in_all() const;
};

// Rows as a network reads them, one behind the other. Codes are counted over all columns: a column's begin behind those
// of the columns before. They lie here as the bytes of int32.
struct SplitInputs {
  ColumnSchema schema;
  uint32_t rows = 0;
  std::vector<float> values;

  // These rows, one behind the other.
  std::vector<float> gather(std::span<const uint32_t> rows) const;
};

struct SplitColumn {
  double mean = 0, deviation = 1;  // of numbers; infinite if all values are the same
  std::vector<float> cuts;         // of buckets: ascending, each the first value of a bucket
  friend bool operator==(const SplitColumn&, const SplitColumn&) = default;
};

struct SplitColumns {
  bool is_coded = false;
  std::vector<SplitColumn> columns;

  // Bucket 0 is a missing value.
  ColumnSchema schema() const;
  friend bool operator==(const SplitColumns&, const SplitColumns&) = default;
};

constexpr uint32_t kSplitColumnsMax = 10'000;  // of a party
constexpr float kSplitNumberMax = 16;          // deviations; what is beyond counts as so many

// `columns`: [column][row], NaN where there is no value. invalid_argument: infinities, too many columns or rows.
Result<SplitColumns> fit_columns(const std::vector<std::vector<float>>& columns, const SplitSettings& settings);
// `rows` where there is no column. The same errors, and for another number of columns.
Result<SplitInputs> encode_columns(const SplitColumns& fitted, const std::vector<std::vector<float>>& columns,
                                   uint32_t rows);

void write_split_columns(const SplitColumns& columns, WireWriter& writer);
Result<SplitColumns> read_split_columns(WireReader& reader);  // `malformed`

}  // namespace coterie::vertical
