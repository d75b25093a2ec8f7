// Where the values of a network that computes in int8 lie in one piece of memory. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "device_sdk/runtime/int8/int8_program.h"

namespace coterie {

struct Int8Arena {
  std::vector<uint64_t> offsets;  // of each value of the program, in bytes; no alignment
  uint64_t bytes = 0;
};

// Values that are needed at one time do not overlap: the input is from before the first step on, a step's output from
// that step on, each until the last step that reads it, the program's output to the end. Precondition: the elements of
// all values fit 2^57 together.
Int8Arena plan_int8_arena(const Int8Program& program);

}  // namespace coterie
