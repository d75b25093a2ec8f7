#include "scheduler/selection/weighted_draw.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace coterie {
namespace {

constexpr double kScoreMin = 1e-9;  // where all scores are 0

}  // namespace

std::vector<uint32_t> weighted_draw(std::span<const double> scores, size_t count, Prng& chance) {
  // Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006: the smallest of exponential variables
  // with the scores as rates are a draw without replacement. log1p(-u) is finite, as u is below 1.
  std::vector<std::pair<double, uint32_t>> keys;
  for (uint32_t i = 0; i < scores.size(); ++i) keys.emplace_back(-std::log1p(-chance.uniform()) / scores[i], i);
  std::ranges::partial_sort(keys, keys.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<uint32_t> drawn;
  for (size_t i = 0; i < count; ++i) drawn.push_back(keys[i].second);
  return drawn;
}

void bound_scores(std::span<double> scores, float ratio_max) {
  const double highest = std::max(*std::ranges::max_element(scores), kScoreMin);
  for (double& score : scores) score = std::max(score, highest / static_cast<double>(ratio_max));
}

}  // namespace coterie
