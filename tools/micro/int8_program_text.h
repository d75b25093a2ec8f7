// A network that computes in int8 as one file of C99 and its header.
#pragma once

#include "tools/micro/program_text.h"

namespace coterie {

struct Int8Program;  // device_sdk/runtime/int8/int8_program.h

// The same program gives the same text; the C has the bits of Int8Predictor. The arena holds the int8 values between
// steps, overlaid by their lifetimes; input and output are float32 and the caller's. Errors: too_large where the arena
// is above `arena_bytes_max`, or the parameters do not fit 31 bits.
Result<MicroProgram> write_int8_program(const Int8Program& program, uint64_t arena_bytes_max);

}  // namespace coterie
