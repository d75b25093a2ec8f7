#include "tools/compare/rank_area.h"

#include <algorithm>
#include <cmath>

#include "tools/compare/statistics.h"

namespace coterie {
namespace {

constexpr double kNormalQuantile = 1.959964;  // .975

struct Placements {
  double mean = 0, variance = 0;  // of one of them
};

// For each of `values`, the share of `others` (sorted, as these) that is lower, ties counting half.
Placements placements(const std::vector<double>& values, const std::vector<double>& others) {
  const auto count = static_cast<double>(values.size()), of = static_cast<double>(others.size());
  double sum = 0, squares = 0;
  size_t below = 0, up_to = 0;
  for (const double value : values) {
    while (below < others.size() && others[below] < value) ++below;
    while (up_to < others.size() && others[up_to] <= value) ++up_to;
    const double share = static_cast<double>(below + up_to) / (2 * of);
    sum += share;
    squares += share * share;
  }
  const double mean = sum / count;
  return {mean, count > 1 ? std::max(0.0, (squares - count * mean * mean) / (count - 1)) : 0};
}

}  // namespace

std::optional<RankArea> rank_area(std::vector<double> higher, std::vector<double> lower) {
  if (higher.empty() || lower.empty()) return std::nullopt;
  std::ranges::sort(higher);
  std::ranges::sort(lower);
  const Placements of_higher = placements(higher, lower), of_lower = placements(lower, higher);
  const double area = of_higher.mean;
  if (area == 0 || area == 1) {
    const uint64_t fewer = std::min(higher.size(), lower.size());
    const ShareInterval all = wilson_interval({area == 1 ? fewer : 0, fewer});
    return RankArea{area, all.low, all.high};
  }
  // A single value has no variance that could be seen, which is not none.
  if (higher.size() == 1 || lower.size() == 1) return RankArea{area, 0, 1};
  const double error = std::sqrt(of_higher.variance / static_cast<double>(higher.size()) +
                                 of_lower.variance / static_cast<double>(lower.size()));
  return RankArea{area, std::max(0.0, area - kNormalQuantile * error), std::min(1.0, area + kNormalQuantile * error)};
}

}  // namespace coterie
