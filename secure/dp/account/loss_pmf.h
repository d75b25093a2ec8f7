// The loss of one sampled release on a grid, never smaller than it is.
#pragma once

#include <cstdint>
#include <vector>

#include "secure/dp/account/loss_law.h"

namespace coterie {

// Which of two neighbours is the one observed. Sampling breaks the symmetry, and a guarantee has to hold for both.
enum class Direction : uint8_t { person_leaves = 1, person_joins };

// A release with noise of `law` on records that are taken with probability `rate` each (Poisson).
struct SampledLaw {
  const LossLaw* law = nullptr;
  double rate = 1;
  Direction direction = Direction::person_leaves;
};

// Losses from low to high: what lies above is at most `above` under the observed distribution, what lies below `below`.
struct LossRange {
  double low = 0;
  double high = 0;
};
LossRange range_of(const SampledLaw& release, double above, double below);

// mass[i] at the loss (first + i) x step, and the mass of an infinite loss.
struct LossPmf {
  double step = 0;
  int64_t first = 0;
  std::vector<double> mass;
  double infinite = 0;

  double loss(size_t i) const { return static_cast<double>(first + static_cast<int64_t>(i)) * step; }
};

// Between two grid points the mass goes to both, in the one proportion that keeps its total under either neighbour:
// among all distributions on the grid that dominate the release (that is, whose delta is nowhere smaller) the least.
// This is "connect the dots", Doroshenko et al. 2022 (arXiv 2207.04380); rounding every loss up would cost step / 2 a
// release, this costs order x step^2 / 12 in epsilon. Shares are rounded up by more than their rounding error. What
// lies below the range is raised to its lower end, what lies above becomes infinite.
LossPmf discretize(const SampledLaw& release, const LossRange& range, double step);

}  // namespace coterie
