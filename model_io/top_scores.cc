#include "model_io/top_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace coterie {

std::vector<uint32_t> top_scores(std::span<const float> scores, uint32_t count) {
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto end = order.begin() + std::min<ptrdiff_t>(count, static_cast<ptrdiff_t>(order.size()));
  // A strict order needs NaN to have a place of its own.
  const auto comes_first = [&](uint32_t a, uint32_t b) {
    const bool is_nan = std::isnan(scores[a]), other_is = std::isnan(scores[b]);
    if (is_nan || other_is || scores[a] == scores[b]) return is_nan == other_is ? a < b : other_is;
    return scores[a] > scores[b];
  };
  std::partial_sort(order.begin(), end, order.end(), comes_first);
  order.erase(end, order.end());
  return order;
}

}  // namespace coterie
