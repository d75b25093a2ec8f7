// A model as one file of C99 and its header.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "tools/micro/arena.h"

namespace coterie {

struct MicroModelFrame;

struct MicroOptions {
  bool trains = false;  // with backward and SGD
  uint64_t arena_bytes_max = kMicroArenaBytesMax;
  const MicroModelFrame* frame = nullptr;  // model_frame.h; with it the program, which trains, takes part in rounds
};

struct MicroProgram {
  std::string prefix;           // of every name that others see, and of the files: PREFIX.h, PREFIX.c
  std::string header, source;   // what they hold
  uint64_t arena_bytes = 0;     // all RAM but the stack, input and output
  uint64_t constant_bytes = 0;  // parameters in flash
};

// The same model gives the same text. What the C promises stands in its header: no heap, no libm, no recursion, the
// order of each sum. Errors: those of micro_layers and plan_micro_arena.
Result<MicroProgram> write_micro_program(const Model& model, const MicroOptions& options);

}  // namespace coterie
