// What is left of each candidate for a split, over the rows of a node: plain sums at the party with the labels, sums of
// ciphertexts elsewhere. One algorithm serves both.
#pragma once

#include <span>
#include <utility>
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

struct PlainSums {
  using Sum = SumPair;
  void add(SumPair& sum, const SumPair& term) const { sum += term; }
  SumPair copy(const SumPair& sum) const { return sum; }
};

// A sum of nothing is a null pointer.
struct CipherSums {
  using Sum = CiphertextPtr;
  const AdditiveCipher& cipher;

  void add(CiphertextPtr& sum, const CiphertextPtr& term) const {
    if (!term) return;
    if (sum) {
      cipher.add(*sum, *term);
    } else {
      sum = cipher.copy(*term);
    }
  }
  CiphertextPtr copy(const CiphertextPtr& sum) const { return sum ? cipher.copy(*sum) : nullptr; }
};

// One sum a candidate, in the order of `candidates`, which are candidates_of(columns). terms[row] is what a row adds.
template <typename Sums>
std::vector<typename Sums::Sum> left_sums(const BinnedColumns& columns, std::span<const Candidate> candidates,
                                          std::span<const uint32_t> rows, std::span<const typename Sums::Sum> terms,
                                          const Sums& sums) {
  using Sum = typename Sums::Sum;
  std::vector<Sum> left;
  left.reserve(candidates.size());
  for (size_t i = 0; i < candidates.size();) {
    const uint32_t column = candidates[i].column;
    const std::vector<int16_t>& bins = columns.bins[column];
    std::vector<Sum> histogram(columns.cuts[column].size() + 1);
    Sum missing{};
    for (const uint32_t row : rows) {
      sums.add(bins[row] == kMissingBin ? missing : histogram[static_cast<size_t>(bins[row])], terms[row]);
    }
    // Missing values to the right: what is left of ascending cuts.
    const size_t first = i;
    Sum running{};
    for (; i < candidates.size() && candidates[i].column == column && !candidates[i].missing_left; ++i) {
      sums.add(running, histogram[static_cast<size_t>(candidates[i].cut)]);
      left.push_back(sums.copy(running));
    }
    // To the left: the same and what is missing.
    for (; i < candidates.size() && candidates[i].column == column; ++i) {
      Sum sum = sums.copy(missing);
      if (candidates[i].cut >= 0) sums.add(sum, left[first + static_cast<size_t>(candidates[i].cut)]);
      left.push_back(std::move(sum));
    }
  }
  return left;
}

}  // namespace coterie::vertical
