// Static memory planning: where in one arena each buffer lies, given when it is alive.
//
// Two buffers whose lives share a step never overlap, nor two of which one ends and the other begins in two branches of
// one wave (waves.h). The offsets come from a greedy fit (largest buffer first, and
// other orders; the smallest gap that does, or the first), the usual heuristic for interval graphs (Pisarchyk and Lee,
// "Efficient Memory Management for Deep Neural Net Inference", 2020, section 4). Each order is improved by placing
// first what came to lie on top; the smallest result wins. Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace coterie {

inline constexpr uint64_t kBufferAlignment = 64;

// Where a step runs: in a branch of a wave of the whole program; wave 0: in none.
struct Lane {
  uint32_t wave = 0, branch = 0;
  friend bool operator==(const Lane&, const Lane&) = default;
};
inline constexpr uint32_t kSeveralBranches = ~0u;

// Alive from the first step that touches it to the last, both included.
struct Lifetime {
  uint64_t bytes = 0;
  uint32_t first = 0, last = 0;
  Lane born = {}, dies = {};  // of the first step; of all steps of the last one's wave that touch it

  // Another step touches it, behind all those so far.
  void touch(uint32_t step, const Lane& lane) {
    dies = dies.wave == lane.wave && dies != lane ? Lane{lane.wave, kSeveralBranches} : lane;
    last = step;
  }
};

// Whether there may be a moment at which both are alive.
inline bool may_meet(const Lifetime& a, const Lifetime& b) {
  const Lifetime &one = a.first <= b.first ? a : b, &other = a.first <= b.first ? b : a;
  if (one.last >= other.first) return true;
  return one.dies.wave != 0 && one.dies.wave == other.born.wave && one.dies.branch != other.born.branch;
}

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // multiples of kBufferAlignment, in the order of the lifetimes
  uint64_t bytes = 0;             // of the arena
  uint64_t lower_bound = 0;       // the most bytes alive in one step, run in turn: no plan can be smaller
};

// Sizes are rounded up to kBufferAlignment; their sum must not overflow (the caller bounds each).
MemoryPlan plan_memory(std::span<const Lifetime> lifetimes);

// MemoryPlan::lower_bound alone, which takes far less time than a plan.
uint64_t most_bytes_alive(std::span<const Lifetime> lifetimes);

}  // namespace coterie
