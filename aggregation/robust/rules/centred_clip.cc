#include <cmath>
#include <vector>

#include "aggregation/robust/robust_rule.h"

namespace coterie::robust {
namespace {

constexpr RobustRange kRadius{[](float value) { return std::isfinite(value) && value > 0; }, "must be finite and > 0"};
constexpr RobustSetting kSettings[] = {
    {"radius", 1, kRadius, "what an update may pull at most, as an L2 norm"},
    {"iterations", 3, kIterations, "steps from 0 on"},
};

// v <- 0; then, `iterations` times, v <- v + mean((x - v) min(1, radius / |x - v|)).
// The source begins at the last round's result; 0 is what a round without updates comes to, and no state.
void choose(const UpdateDistances& distances, std::span<const double>, std::span<const float> settings,
            std::span<double> shares) {
  const auto radius = static_cast<double>(settings[0]);
  const auto count = static_cast<double>(shares.size());
  std::vector<double> pulls(shares.size());
  for (uint32_t step = 0; step < static_cast<uint32_t>(settings[1]); ++step) {
    const std::vector<double> squared = distances.squared_to_mixture(shares);
    double pulled = 0;
    for (size_t i = 0; i < shares.size(); ++i) {
      const double distance = std::sqrt(squared[i]);
      pulls[i] = (distance <= radius ? 1 : radius / distance) / count;
      pulled += pulls[i];
    }
    // v is a mixture of the updates and 0 all the time, so that its shares are enough: the values are read once, at the
    // end.
    for (size_t i = 0; i < shares.size(); ++i) shares[i] = shares[i] * (1 - pulled) + pulls[i];
  }
}

}  // namespace

extern const RobustRule kCentredClip = {
    .name = "centred_clip",
    .sentence = "the mean of updates that are clipped around it, step by step",
    .source = "Karimireddy et al. 2021, from 0",
    .settings = kSettings,
    .updates_min = [](std::span<const float>) { return 3u; },
    .updates_min_text = "3",
    .choose = choose,
};

}  // namespace coterie::robust
