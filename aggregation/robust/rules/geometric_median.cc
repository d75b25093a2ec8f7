#include <algorithm>
#include <cmath>
#include <vector>

#include "aggregation/robust/robust_rule.h"

namespace coterie::robust {
namespace {

constexpr RobustRange kSmoothing{[](float value) { return std::isfinite(value) && value > 0; },
                                 "must be finite and > 0"};
// The source takes 3 steps, each a round of secure sums. From the mean a step takes off a share of a large lie alone,
// as large as the liars are few: after 3 of them one that is scaled by a million still moves the model.
constexpr RobustSetting kSettings[] = {
    {"iterations", 32, kIterations, "steps of Weiszfeld's algorithm"},
    {"smoothing", 1e-6f, kSmoothing, "distances below it count as it"},
};

// v <- the weighted mean; then, `iterations` times, v <- sum(b x) / sum(b) with b = weight / max(smoothing, |x - v|).
void choose(const UpdateDistances& distances, std::span<const double> weights, std::span<const float> settings,
            std::span<double> shares) {
  const auto smoothing = static_cast<double>(settings[1]);
  std::vector<double> pulls(weights.begin(), weights.end());
  const auto normalise = [&] {
    double sum = 0;
    for (const double pull : pulls) sum += pull;
    for (size_t i = 0; i < pulls.size(); ++i) shares[i] = pulls[i] / sum;
  };
  normalise();
  for (uint32_t step = 0; step < static_cast<uint32_t>(settings[0]); ++step) {
    const std::vector<double> squared = distances.squared_to_mixture(shares);
    // Without smoothing an update that v has come to would have an infinite pull.
    for (size_t i = 0; i < pulls.size(); ++i) pulls[i] = weights[i] / std::max(smoothing, std::sqrt(squared[i]));
    normalise();
  }
}

}  // namespace

extern const RobustRule kGeometricMedian = {
    .name = "geometric_median",
    .sentence = "the point whose distances to all updates have the least sum",
    .source = "Pillutla et al. 2022, algorithm 2 (RFA, smoothed Weiszfeld)",
    .settings = kSettings,
    .weighs = true,
    .updates_min = [](std::span<const float>) { return 3u; },
    .updates_min_text = "3",
    .choose = choose,
};

}  // namespace coterie::robust
