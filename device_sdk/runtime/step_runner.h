// StepRunner: runs the phases of a Trainer's programs in the Trainer's place, for whoever looks at each step: the tools
// that find where training went wrong. Without one a Trainer runs them itself, and pays a null test a phase for it.
#pragma once

#include <cstdint>
#include <span>

#include "device_sdk/runtime/step_info.h"

namespace coterie {

class Program;
struct StepContext;

// What runs next: a micro-batch of a step.
struct BatchMoment {
  uint64_t step = 0;                   // of the training, from 0
  std::span<const uint32_t> examples;  // by slot of the batch, the numbers of the examples in their source
};

// Called by Trainer::step on its own thread. The references hold during the call.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  // In front of a micro-batch's phases; its inputs and its target are in the program's memory.
  virtual void begin(const BatchMoment& moment) = 0;
  // Must run all steps of the phase in order: as program.run(phase, context), or one by one with run_step(). `program`
  // is bound to `arena`.
  virtual void run(const Program& program, const Arena& arena, Phase phase, const StepContext& context) = 0;
  // The gradients that were added up, once they are divided, unscaled and clipped. Not called where no step needs that
  // (CompileSettings::keeps_gradients), nor where loss scaling skips the step.
  virtual void scaled(std::span<const float> gradients) = 0;
};

}  // namespace coterie
