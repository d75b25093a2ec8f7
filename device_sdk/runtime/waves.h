// Waves: which steps of a phase run at the same time, found for the order that they have. Pure, and deterministic.
//
// A wave consists of branches. A branch is some steps that one thread runs in turn, each of them whole; between two
// branches of a wave no step needs another's. What stands between waves runs as it does without them: one step after
// the other, each of them cut among all threads. So nothing is cut within a branch, and no step's arithmetic changes.
//
// Which steps are in waves is a shortest path over the phase (dynamic programming): a step by itself costs what it
// takes cut, a wave what its branches take when the longest is begun first (Graham 1969, SIAM J. Appl. Math. 17(2),
// section 5). A step that needs several branches either makes them one or waits behind the wave, where a sum of
// gradients belongs: both are tried.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device_sdk/runtime/wave.h"

namespace coterie {

inline constexpr uint32_t kWaveStepsMax = 256;  // in and behind a wave
inline constexpr double kWaveGainMin = 1.1;     // a wave takes so much less than its steps in turn, by estimate
// To hand a branch over takes such a share of the least that one must take.
inline constexpr double kHandingShare = 1.0 / 3;

// A step as the planner sees it.
struct WaveStep {
  std::vector<uint32_t> needs = {};  // steps in front of it that must be done before
  double whole_nanoseconds = 0;      // by one thread
  double cut_nanoseconds = 0;        // in turn with the others, by as many threads as it is cut for
  bool runs_alone = false;           // in no wave, and nothing passes it
};

struct WavePlan {
  std::vector<uint32_t> order;  // of all steps; each behind those that it needs
  std::vector<Wave> waves;      // of at least two branches each, in the order of their places
};

// A wave has two branches or more of at least `branch_nanoseconds_min`.
WavePlan plan_waves(std::span<const WaveStep> steps, uint32_t threads, double branch_nanoseconds_min);

}  // namespace coterie
