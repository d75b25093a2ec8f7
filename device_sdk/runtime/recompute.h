// Which steps are run again so that their results need not be held: memory bought with time.
//
// A value that is made early and read again late (the activations that backward needs) is held in between.
// Its life may be cut there: the step that made it runs again right before the late reader. What that step
// reads must then be there; it is held longer, or made again as well, back to values that are there anyway
// (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016, with the segments found rather than
// given).
//
// Greedy: of all cuts the one that takes away most of what exceeds the limit for its cost, until all fits;
// then every cut without which it still fits is undone, the dearest first. A pure analysis; program.h carries
// it out.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace coterie {

inline constexpr uint32_t kNoStep = ~0u;

struct ScheduledStep {
  std::vector<uint32_t> reads, writes;  // values; each value is written by one step or by none
  double cost = 0;                      // of running it again, in any unit
  // It may run again in front of the steps up to this one, by index; 0: never. What it reads beside values
  // changes there.
  uint32_t again_until = 0;
};

struct ScheduledValue {
  uint64_t bytes = 0;
  uint32_t made_by = kNoStep;  // kNoStep: it is there before the first step
  bool lives_to_end = false;
};

struct StepSchedule {
  std::vector<ScheduledStep> steps;
  std::vector<ScheduledValue> values;
  // By value: whose memory it may be written over if they die as it is made.
  std::vector<std::vector<uint32_t>> may_overwrite;
};

struct Recomputation {
  std::vector<uint32_t> order;  // of the steps, as they run: all in their order, and some again
  double cost = 0;              // of those that run again
  uint64_t peak_bytes = 0;      // alive at once
};

// No order has fewer bytes alive: some step names them.
uint64_t least_bytes(const StepSchedule& schedule);

// As few steps again as it takes to have at most `bytes` alive; if that cannot be, peak_bytes says what came
// out.
Recomputation recompute_within(const StepSchedule& schedule, uint64_t bytes);

}  // namespace coterie
