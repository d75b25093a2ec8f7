// A vector that is added to the gradient of every step: what a device's state says (TrainOptions::gradient_offset).
#pragma once

#include "device_sdk/runtime/program.h"

namespace coterie {

// Emits a step that makes gradient + offset, `count` floats each, and gives where it lies: over the gradient where
// nobody reads that again.
BufferId emit_offset(Program& program, Phase phase, uint64_t count, BufferId gradient, BufferId offset);

}  // namespace coterie
