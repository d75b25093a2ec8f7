#include "vertical/trees/binned_columns.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "vertical/trees/tree_settings.h"

namespace coterie::vertical {
namespace {

Error wrong(std::string what) { return Error(ErrorCode::invalid_argument, "columns: " + std::move(what)); }

Status check_cuts(size_t column, const Cuts& cuts) {
  const std::string name = "column " + std::to_string(column);
  if (cuts.size() >= kBinsMax) {
    return wrong(name + " has " + std::to_string(cuts.size() + 1) + " bins, at most " + std::to_string(kBinsMax));
  }
  for (size_t i = 0; i < cuts.size(); ++i) {
    if (!std::isfinite(cuts[i]) || (i > 0 && cuts[i] <= cuts[i - 1])) {
      return wrong(name + ": its cuts are not finite and ascending");
    }
  }
  return {};
}

}  // namespace

Cuts quantile_cuts(std::span<const float> values, uint32_t bins) {
  std::vector<float> sorted;
  std::ranges::copy_if(values, std::back_inserter(sorted), [](float value) { return !std::isnan(value); });
  std::ranges::sort(sorted);
  Cuts cuts;
  for (uint64_t k = 1; k < bins && !sorted.empty(); ++k) {
    // The value at rank ceil(k n / bins). Equal quantiles give one cut, and a column of one value none.
    const float cut = sorted[(k * sorted.size() + bins - 1) / bins - 1];
    if (cut > (cuts.empty() ? sorted.front() : cuts.back())) cuts.push_back(cut);
  }
  return cuts;
}

Result<BinnedColumns> bin_columns(const std::vector<std::vector<float>>& columns, std::vector<Cuts> cuts) {
  if (columns.size() != cuts.size()) return wrong("there are cuts for " + std::to_string(cuts.size()) + " columns");
  if (columns.size() > kTreeColumnsMax) return wrong("more than " + std::to_string(kTreeColumnsMax));
  BinnedColumns binned;
  for (size_t column = 0; column < columns.size(); ++column) {
    const std::vector<float>& values = columns[column];
    const std::string name = "column " + std::to_string(column);
    if (values.empty() || values.size() > kTreeRowsMax || values.size() != columns[0].size()) {
      return wrong(name + " has " + std::to_string(values.size()) + " rows, expected as many as the first, 1 to " +
                   std::to_string(kTreeRowsMax));
    }
    COT_TRY(check_cuts(column, cuts[column]));
    std::vector<int16_t> bins(values.size(), kMissingBin);
    for (size_t row = 0; row < values.size(); ++row) {
      if (std::isinf(values[row])) return wrong(name + ", row " + std::to_string(row) + " is infinite");
      if (std::isnan(values[row])) continue;
      bins[row] = static_cast<int16_t>(std::ranges::upper_bound(cuts[column], values[row]) - cuts[column].begin());
    }
    binned.rows = static_cast<uint32_t>(values.size());
    binned.bins.push_back(std::move(bins));
  }
  binned.cuts = std::move(cuts);
  return binned;
}

Result<BinnedColumns> bin_columns(const std::vector<std::vector<float>>& columns, uint32_t bins) {
  if (bins < 2 || bins > kBinsMax) {
    return wrong(std::to_string(bins) + " bins, expected 2 to " + std::to_string(kBinsMax));
  }
  std::vector<Cuts> cuts;
  for (const std::vector<float>& values : columns) {
    // What is infinite is refused below; it must not become a cut before.
    cuts.push_back(std::ranges::any_of(values, [](float v) { return std::isinf(v); }) ? Cuts{}
                                                                                      : quantile_cuts(values, bins));
  }
  return bin_columns(columns, std::move(cuts));
}

}  // namespace coterie::vertical
