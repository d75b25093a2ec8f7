// What a watch looks at around each step of a program: found once, before the first look.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "device_sdk/runtime/arena.h"
#include "device_sdk/runtime/step_info.h"
#include "device_sdk/watch/check.h"
#include "device_sdk/watch/watched_tensors.h"

namespace coterie {

class Program;

// A number for a tensor's values, and one for its gradient.
inline size_t slot_of(uint32_t tensor, bool is_gradient) { return 2 * size_t{tensor} + (is_gradient ? 1 : 0); }

struct MadeTensor {  // behind a step
  TensorView tensor;
  uint32_t number = 0;  // of the tensor that it shows
  bool is_gradient = false;
  bool is_first = false;  // that the phase has of it: it is judged once a look
  uint64_t units = 0;     // of a relu that is looked at by unit; else 0
};

struct WatchedStep {
  uint32_t op = kNoOp;
  std::vector<size_t> reads;                        // slots of the tensors that are shown (WatchedTensors::shown_in)
  std::vector<std::pair<size_t, TensorView>> data;  // of those the model's inputs
  std::vector<MadeTensor> made;
  std::vector<std::pair<uint32_t, TensorView>> gradients;  // in front of it: what the optimizer gets
};

struct StepsAsked {
  const Model& model;
  const WatchPlan& plan;
  const WatchedTensors& tensors;
  bool tracks_finite = false;  // whether reads and data are wanted, and all that is made
};

// The steps of a phase, in order. `program` is bound to `arena`; the views hold as long as it is.
std::vector<WatchedStep> find_watched_steps(const Program& program, const Arena& arena, Phase phase,
                                            const StepsAsked& asked);

}  // namespace coterie
