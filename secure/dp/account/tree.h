// Tree aggregation (DP-FTRL): Kairouz et al. 2021 (arXiv 2103.00039). Step i is a leaf of a binary tree; every node
// whose leaves are all done is released once, with normal noise of `noise_multiplier` times what one person adds to one
// leaf. No sampling is claimed: what is limited is how often, and how soon again, a person takes part.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace coterie {

// Who may take part when.
enum class Participation : uint8_t {
  periodic =
      1,     // at most every `separation` steps exactly: persons are dealt into that many groups once, for all rounds
  separated  // whenever at least `separation` steps lie between a person's steps, as a device can check by itself
};

// Steps and separation from 1 to kTreeStepsMax; a separation of at least `steps` means once.
struct TreeSchedule {
  uint64_t steps = 1;
  uint64_t separation = 1;
  Participation participation = Participation::separated;
};

// The square of the L2 sensitivity of all nodes of one tree that is never restarted: the sum over nodes of (times that
// a person is in it)^2, at the worst schedule. Periodic: their Algorithm 4, exact. Separated: from above, each level of
// the tree by itself as if its nodes were filled as full as separation lets them be, and the tree as if it had all the
// participations that fit. A few percent above the periodic value in long trees, up to half in short ones.
Result<double> tree_squared_sensitivity(const TreeSchedule& schedule);

// zCDP of that: the square over 2 noise_multiplier^2.
Result<double> tree_rho(const TreeSchedule& schedule, double noise_multiplier);

// zCDP of a tree that is restarted after `steps`, where each person takes part once in all: their Appendix D,
// depth / (2 noise_multiplier^2), depth = ceil(log2(steps + 1)).
Result<double> single_epoch_tree_rho(uint64_t steps, double noise_multiplier);

}  // namespace coterie
