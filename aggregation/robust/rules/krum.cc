// Krum and multi-Krum: of equal scores the update whose device comes first is taken.
#include <algorithm>

#include "aggregation/robust/krum_scores.h"
#include "aggregation/robust/robust_rule.h"

namespace coterie::robust {
namespace {

constexpr RobustSetting kSettings[] = {
    {"liars_max", 1, kLiars, "updates that may be lies"},
};

uint32_t updates_min(std::span<const float> settings) { return 2 * static_cast<uint32_t>(settings[0]) + 3; }

// Equal shares for the `count` updates of the lowest scores.
void choose_best(const UpdateDistances& distances, uint32_t liars_max, size_t count, std::span<double> shares) {
  std::vector<size_t> order = all_of(distances);
  const std::vector<double> scores = krum_scores(distances, order, liars_max);
  // Stable: updates come in the order of their devices, which decides where scores are equal, and not the order of
  // arrival.
  std::ranges::stable_sort(order, {}, [&](size_t update) { return scores[update]; });
  for (size_t i = 0; i < count; ++i) shares[order[i]] = 1 / static_cast<double>(count);
}

void choose_one(const UpdateDistances& distances, std::span<const double>, std::span<const float> settings,
                std::span<double> shares) {
  choose_best(distances, static_cast<uint32_t>(settings[0]), 1, shares);
}

void choose_all_but_liars(const UpdateDistances& distances, std::span<const double>, std::span<const float> settings,
                          std::span<double> shares) {
  const auto liars_max = static_cast<uint32_t>(settings[0]);
  choose_best(distances, liars_max, shares.size() - liars_max, shares);
}

}  // namespace

extern const RobustRule kKrum = {
    .name = "krum",
    .sentence = "the one update that is nearest to its neighbours",
    .source = "Blanchard et al. 2017",
    .settings = kSettings,
    .loses_under_skew = true,
    .updates_min = updates_min,
    .updates_min_text = "2 liars_max + 3",
    .choose = choose_one,
};

extern const RobustRule kMultiKrum = {
    .name = "multi_krum",
    .sentence = "the mean of all updates but the liars_max that are farthest from their neighbours",
    .source = "Blanchard et al. 2017, m = n - f",
    .settings = kSettings,
    .loses_under_skew = true,
    .updates_min = updates_min,
    .updates_min_text = "2 liars_max + 3",
    .choose = choose_all_but_liars,
};

}  // namespace coterie::robust
