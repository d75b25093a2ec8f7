// The rungs of a tuning: all settings train for a few rounds, the best of them go on, and so forth. Pure.
//
// Successive halving (Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization",
// 2016): each rung has 1/eta of the arms of the one before, and brings them to eta times its rounds. Arms go on from
// their own models, so that a rung costs only the rounds that it adds.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace coterie {

struct TuneBudget {
  uint64_t arms = 0;          // settings; at least 2
  uint32_t eta = 3;           // in [2, 16]
  uint32_t rounds_first = 3;  // of each arm of the first rung; in [1, rounds_max]
  uint32_t rounds_max = 0;    // of any arm: what the job says
  bool finishes = false;      // the best arm goes on to rounds_max
};

struct TuneRung {
  uint64_t arms = 0;    // at most; less where some have failed
  uint32_t rounds = 0;  // that each has at its end
  uint32_t added = 0;   // of them, in this rung
  friend bool operator==(const TuneRung&, const TuneRung&) = default;
};

// The last rung is the first with eta arms or fewer, or whose arms have all rounds: the best of it is the tuning's.
// With `finishes` one more follows for the best alone, unless it has all rounds. invalid_argument.
Result<std::vector<TuneRung>> tune_rungs(const TuneBudget& budget);

// All arms' together, at most.
uint64_t rounds_of(const std::vector<TuneRung>& rungs);

}  // namespace coterie
