// A program's steps with their operands in memory: what a StepRunner sees that looks at tensors.
#pragma once

#include <utility>
#include <vector>

#include "device_sdk/runtime/step_info.h"

namespace coterie {

class Program;

struct StepView {
  StepInfo info;
  std::vector<const void*> data;  // of info.operands; null: a constant of the model
  // What lies in a region of its own (parameters) and comes in by way of scratch alone: a convolution reads its weight
  // as a step of the same op in front of it has arranged it.
  std::vector<std::pair<OperandInfo, const void*>> arranged;
};

// Those of a phase, in order. `program` is bound to `arena`; the pointers hold as long as it is.
std::vector<StepView> view_steps(const Program& program, const Arena& arena, Phase phase);

}  // namespace coterie
