#include "vertical/trees/gradient_sample.h"

#include <algorithm>
#include <numeric>

#include "vertical/trees/secret_order.h"

namespace coterie::vertical {
namespace {

int128 magnitude(int128 value) { return value < 0 ? -value : value; }

// Exact before the division: below 2^61 times below 2^22.
int128 weighted(int128 value, uint32_t others, uint32_t drawn) {
  const int128 product = value * others;
  const int128 half = drawn / 2;
  return (product + (product < 0 ? -half : half)) / drawn;
}

}  // namespace

std::vector<uint32_t> sample_gradients(const Goss& goss, const Secret<32>& seed, uint32_t round,
                                       std::span<std::vector<SumPair>> gradients) {
  const auto rows = static_cast<uint32_t>(gradients[0].size());
  const SampleSize size = sample_size(goss, rows);
  std::vector<int128> scores(rows);
  for (const std::vector<SumPair>& of_class : gradients) {
    for (uint32_t row = 0; row < rows; ++row) scores[row] += magnitude(of_class[row].first);
  }
  std::vector<uint32_t> by_score(rows);
  std::iota(by_score.begin(), by_score.end(), 0u);
  const auto top_end = by_score.begin() + size.top;
  std::ranges::nth_element(by_score, top_end, [&](uint32_t a, uint32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  // Ascending: how a selection leaves the others is the library's affair, and what is drawn must not depend on it.
  std::sort(top_end, by_score.end());
  const uint32_t others = rows - size.top;
  const std::vector<uint32_t> order = secret_order(seed, "coterie tree sample", round, others);
  std::vector<uint32_t> sampled(by_score.begin(), top_end);
  std::vector<uint8_t> is_looked_at(rows);
  for (const uint32_t row : sampled) is_looked_at[row] = 1;
  for (uint32_t i = 0; i < size.other; ++i) {
    const uint32_t row = by_score[size.top + order[i]];
    sampled.push_back(row);
    is_looked_at[row] = 1;
    for (std::vector<SumPair>& of_class : gradients) {
      SumPair& pair = of_class[row];
      pair = {weighted(pair.first, others, size.other), weighted(pair.second, others, size.other)};
    }
  }
  for (std::vector<SumPair>& of_class : gradients) {
    for (uint32_t row = 0; row < rows; ++row) {
      if (is_looked_at[row] == 0) of_class[row] = {};
    }
  }
  std::ranges::sort(sampled);
  return sampled;
}

}  // namespace coterie::vertical
