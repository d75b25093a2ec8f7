// BinnedColumns: one party's columns as the numbers of bins, which is all that training looks at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace coterie::vertical {

constexpr uint32_t kBinsMax = 4096;           // of a column
constexpr uint32_t kTreeColumnsMax = 10'000;  // of a party
constexpr int16_t kMissingBin = -1;

// A column's values that bins begin at, ascending: a value's bin is how many of them are at most the value.
using Cuts = std::vector<float>;

struct BinnedColumns {
  uint32_t rows = 0;
  std::vector<Cuts> cuts;                  // one entry a column
  std::vector<std::vector<int16_t>> bins;  // [column][row]; kMissingBin where the value is NaN

  uint32_t columns() const { return static_cast<uint32_t>(cuts.size()); }
};

// Exact quantiles of the values that are there: with n of them, those at ceil(k n / bins) - 1 in ascending order, k = 1
// ... bins - 1, each once, without the least. No interpolation, so that each party computes the same anywhere.
Cuts quantile_cuts(std::span<const float> values, uint32_t bins);

// `columns`: [column][row], NaN where a value is missing. Infinities, ragged columns and what is over a limit are
// invalid_argument, which names the column and the row, never the value.
Result<BinnedColumns> bin_columns(const std::vector<std::vector<float>>& columns, std::vector<Cuts> cuts);
Result<BinnedColumns> bin_columns(const std::vector<std::vector<float>>& columns, uint32_t bins);

}  // namespace coterie::vertical
