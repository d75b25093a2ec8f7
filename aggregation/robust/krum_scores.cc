#include "aggregation/robust/krum_scores.h"

#include <algorithm>
#include <numeric>

namespace coterie::robust {

std::vector<double> krum_scores(const UpdateDistances& distances, std::span<const size_t> among, uint32_t liars_max) {
  const size_t others = among.size() - 1;
  // The sum of squared distances to the n - f - 2 nearest others (Blanchard et al. 2017, section 4), of which there is
  // one at least: where Bulyan has taken most of the updates, fewer are left than the formula needs.
  const size_t near = std::min(others, among.size() > liars_max + size_t{3} ? among.size() - liars_max - 2 : size_t{1});
  std::vector<double> scores, to_others;
  for (const size_t update : among) {
    to_others.clear();
    for (const size_t other : among) {
      if (other != update) to_others.push_back(distances.squared(update, other));
    }
    std::ranges::sort(to_others);
    scores.push_back(std::accumulate(to_others.begin(), to_others.begin() + static_cast<std::ptrdiff_t>(near), 0.0));
  }
  return scores;
}

std::vector<size_t> all_of(const UpdateDistances& distances) {
  std::vector<size_t> all(distances.updates());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

}  // namespace coterie::robust
