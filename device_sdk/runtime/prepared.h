// What a program computes once: the results of its prepare phase.
//
// A value is settled if the program never changes it: constants; parameters and state, unless they are trained or
// follow the batches; and what is computed from settled values alone. What depends on nothing else (a weight in the
// order in which a kernel reads it, a folded constant) is computed in Phase::prepare, into Region::prepared, and is
// there in every run.
//
// Programs that share an arena (a whole batch's and the smaller last one's) share that region, too: it holds what the
// program that runs prepared. The other one prepares again when its turn comes, twice an epoch, which is less memory
// than a region for each, and asks nothing of what they prepare.
#pragma once

#include "device_sdk/runtime/program.h"

namespace coterie {

// Serves one arena; not thread-safe. The programs stay where they are.
class Prepared {
 public:
  // Settled values were set from outside.
  void forget() { program_ = nullptr; }
  // Before the inputs are filled: the planned memory they lie in is the prepare phase's scratch. If a step finds a
  // fault the program has to prepare again. Allocates nothing.
  void prepare(const Program& program, const StepContext& context) {
    if (program_ == &program) return;
    program_ = nullptr;
    program.run(Phase::prepare, context);
    if (context.fault == nullptr || *context.fault == nullptr) program_ = &program;
  }

 private:
  const Program* program_ = nullptr;  // whose values the region holds
};

}  // namespace coterie
