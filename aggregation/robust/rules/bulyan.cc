#include <algorithm>
#include <cmath>

#include "aggregation/robust/krum_scores.h"
#include "aggregation/robust/sorted_coordinates.h"

namespace coterie::robust {
namespace {

constexpr RobustSetting kSettings[] = {
    {"liars_max", 1, kLiars, "updates that may be lies"},
};

// n - 2 liars_max updates, one by one: each is the one that Krum takes of those left.
void choose(const UpdateDistances& distances, std::span<const double>, std::span<const float> settings,
            std::span<double> shares) {
  const auto liars_max = static_cast<uint32_t>(settings[0]);
  std::vector<size_t> left = all_of(distances);
  for (size_t taken = 0; taken < shares.size() - 2 * size_t{liars_max}; ++taken) {
    const std::vector<double> scores = krum_scores(distances, left, liars_max);
    const auto best = std::ranges::min_element(scores) - scores.begin();
    shares[left[static_cast<size_t>(best)]] = 1;
    left.erase(left.begin() + best);
  }
}

// The mean of the values nearest to the median, 2 liars_max fewer than there are; of two as near the smaller one.
double mean_around_median(std::span<const float> sorted, size_t dropped) {
  const double median = median_of(sorted);
  size_t begin = 0, end = sorted.size();
  while (dropped-- > 0) {
    const double below = median - static_cast<double>(sorted[begin]);
    const double above = static_cast<double>(sorted[end - 1]) - median;
    if (above >= below) --end;
    else ++begin;
  }
  return mean_of(sorted.subspan(begin, end - begin));
}

void apply(const RobustTile& tile) {
  const size_t dropped = 2 * static_cast<size_t>(tile.settings[0]);
  for_sorted_coordinates(
      tile, [&](size_t row) { return tile.shares[row] > 0; },
      [&](std::span<const float> sorted) { return mean_around_median(sorted, dropped); });
}

}  // namespace

extern const RobustRule kBulyan = {
    .name = "bulyan",
    .sentence = "updates chosen by Krum, and of each coordinate the mean of the values around their median",
    .source = "El Mhamdi et al. 2018",
    .settings = kSettings,
    .loses_under_skew = true,
    .updates_min = [](std::span<const float> settings) { return 4 * static_cast<uint32_t>(settings[0]) + 3; },
    .updates_min_text = "4 liars_max + 3",
    .choose = choose,
    .apply = apply,
};

}  // namespace coterie::robust
