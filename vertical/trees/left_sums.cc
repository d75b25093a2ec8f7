#include "vertical/trees/left_sums.h"

#include <algorithm>
#include <limits>

namespace coterie::vertical {

std::vector<Candidate> candidates_of(const BinnedColumns& columns) {
  std::vector<Candidate> candidates;
  for (uint32_t column = 0; column < columns.columns(); ++column) {
    const auto last_bin = static_cast<int16_t>(columns.cuts[column].size());
    const bool misses = std::ranges::find(columns.bins[column], kMissingBin) != columns.bins[column].end();
    const auto end = static_cast<int16_t>(misses ? last_bin + 1 : last_bin);
    for (int16_t cut = 0; cut < end; ++cut) candidates.push_back({column, cut, false});
    for (auto cut = static_cast<int16_t>(last_bin - 1); misses && cut >= -1; --cut) {
      candidates.push_back({column, cut, true});
    }
  }
  return candidates;
}

float threshold_of(const BinnedColumns& columns, const Candidate& candidate) {
  const Cuts& cuts = columns.cuts[candidate.column];
  if (candidate.cut < 0) return -std::numeric_limits<float>::infinity();
  const auto cut = static_cast<size_t>(candidate.cut);
  return cut < cuts.size() ? cuts[cut] : std::numeric_limits<float>::infinity();
}

}  // namespace coterie::vertical
