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
    // Downwards, and behind those with missing values at the right: as XGBoost looks at them.
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

std::vector<SumPair> PlainSums::totals(std::span<const TermList> lists, std::span<const SumPair> terms) const {
  std::vector<SumPair> all(lists.size());
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const uint32_t term : lists[i]) all[i] += terms[term];
  }
  return all;
}

std::vector<CiphertextPtr> CipherSums::totals(std::span<const TermList> lists,
                                              std::span<const CiphertextPtr> terms) const {
  std::vector<CiphertextList> ciphertexts(lists.size());
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const uint32_t term : lists[i]) {
      if (terms[term]) ciphertexts[i].push_back(terms[term].get());
    }
  }
  return cipher.sums(ciphertexts);
}

void CipherSums::add_each(std::span<const Addition> additions) const {
  std::vector<CiphertextAddition> both;
  for (const auto& [sum, term] : additions) {
    if (!*term) continue;
    if (*sum) {
      both.push_back({sum->get(), term->get()});
    } else {
      *sum = cipher.copy(**term);
    }
  }
  cipher.add_each(both);
}

std::vector<ColumnCandidates> by_column(std::span<const Candidate> candidates) {
  std::vector<ColumnCandidates> all;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (all.empty() || all.back().column != candidates[i].column) all.push_back({candidates[i].column, i, 0, i});
    if (!candidates[i].missing_left) ++all.back().ascending;
    ++all.back().end;
  }
  return all;
}

}  // namespace coterie::vertical
