// What is left of each candidate for a split, over the rows of a node: plain sums at the party with the labels, sums of
// ciphertexts elsewhere. One algorithm serves both.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "secure/he/additive_cipher.h"
#include "secure/he/pair_packing.h"
#include "vertical/trees/binned_columns.h"

namespace coterie::vertical {

// A way to split: bins up to `cut` go left, and missing values if `missing_left`.
struct Candidate {
  uint32_t column = 0;
  int16_t cut = 0;
  bool missing_left = false;
};

// All of a party's, in the order in which XGBoost's hist looks at them; of equal gains the first one wins. Columns that
// miss values have both directions, and the splits between what is missing and what is there.
std::vector<Candidate> candidates_of(const BinnedColumns& columns);

// Whether a row goes left.
inline bool goes_left(const BinnedColumns& columns, const Candidate& candidate, uint32_t row) {
  const int16_t bin = columns.bins[candidate.column][row];
  return bin == kMissingBin ? candidate.missing_left : bin <= candidate.cut;
}

// The number under which values are left of `candidate`'s cut.
float threshold_of(const BinnedColumns& columns, const Candidate& candidate);

// Which terms a sum has, by their places.
using TermList = std::vector<uint32_t>;

struct PlainSums {
  using Sum = SumPair;
  struct Addition {
    SumPair* sum;
    const SumPair* term;
  };

  std::vector<SumPair> totals(std::span<const TermList> lists, std::span<const SumPair> terms) const;
  void add_each(std::span<const Addition> additions) const {
    for (const Addition& one : additions) *one.sum += *one.term;
  }
  SumPair copy(const SumPair& sum) const { return sum; }
};

// A sum of nothing is a null pointer.
struct CipherSums {
  using Sum = CiphertextPtr;
  struct Addition {
    CiphertextPtr* sum;
    const CiphertextPtr* term;
  };
  const AdditiveCipher& cipher;

  std::vector<CiphertextPtr> totals(std::span<const TermList> lists, std::span<const CiphertextPtr> terms) const;
  // No sum comes twice, or is a term.
  void add_each(std::span<const Addition> additions) const;
  CiphertextPtr copy(const CiphertextPtr& sum) const { return sum ? cipher.copy(*sum) : nullptr; }
};

// Candidates [first, first + ascending) of a column have what misses on the right, those up to `end` on the left.
struct ColumnCandidates {
  uint32_t column = 0;
  size_t first = 0, ascending = 0, end = 0;
};
std::vector<ColumnCandidates> by_column(std::span<const Candidate> candidates);

// Columns whose histograms are made together: so many terms keep a cipher's lanes busy, and few lists in memory.
constexpr size_t kTermsOfGroup = size_t{1} << 16;

// One sum a candidate, in the order of `candidates`, which are candidates_of(columns). terms[row] is what a row adds.
template <typename Sums>
std::vector<typename Sums::Sum> left_sums(const BinnedColumns& columns, std::span<const Candidate> candidates,
                                          std::span<const uint32_t> rows, std::span<const typename Sums::Sum> terms,
                                          const Sums& sums) {
  using Sum = typename Sums::Sum;
  using Addition = typename Sums::Addition;
  std::vector<Sum> left(candidates.size());
  const std::vector<ColumnCandidates> all = by_column(candidates);
  const size_t group_max = std::max<size_t>(1, kTermsOfGroup / std::max<size_t>(1, rows.size()));
  for (size_t begin = 0; begin < all.size(); begin += group_max) {
    const auto group = std::span(all).subspan(begin, std::min(group_max, all.size() - begin));
    // The histograms, one behind the other; behind each what misses.
    std::vector<TermList> lists;
    std::vector<size_t> first_bin, missing;
    for (const ColumnCandidates& of : group) {
      const std::vector<int16_t>& bins = columns.bins[of.column];
      first_bin.push_back(lists.size());
      missing.push_back(lists.size() + columns.cuts[of.column].size() + 1);
      lists.resize(missing.back() + 1);
      for (const uint32_t row : rows) {
        lists[bins[row] == kMissingBin ? missing.back() : first_bin.back() + static_cast<size_t>(bins[row])].push_back(
            row);
      }
    }
    std::vector<Sum> histogram = sums.totals(lists, terms);
    // Missing values to the right: what is left of ascending cuts, a cut of all columns at a time.
    std::vector<Addition> additions;
    bool more = true;
    for (size_t cut = 0; more; ++cut) {
      more = false;
      additions.clear();
      for (size_t i = 0; i < group.size(); ++i) {
        if (cut >= group[i].ascending) continue;
        more = true;
        Sum& sum = left[group[i].first + cut];
        if (cut == 0) {
          sum = sums.copy(histogram[first_bin[i]]);
        } else {
          sum = sums.copy(left[group[i].first + cut - 1]);
          additions.push_back({&sum, &histogram[first_bin[i] + cut]});
        }
      }
      sums.add_each(additions);
    }
    // To the left: the same and what is missing.
    additions.clear();
    for (size_t i = 0; i < group.size(); ++i) {
      for (size_t k = group[i].first + group[i].ascending; k < group[i].end; ++k) {
        left[k] = sums.copy(histogram[missing[i]]);
        if (candidates[k].cut < 0) continue;
        additions.push_back({&left[k], &left[group[i].first + static_cast<size_t>(candidates[k].cut)]});
      }
    }
    sums.add_each(additions);
  }
  return left;
}

}  // namespace coterie::vertical
