// Whole networks in int8 beside the same in float32.
#pragma once

namespace coterie::bench {

// Prints a row of JSON for each network: microseconds of this thread's processor time for an example. float32 is taken
// one example at a time and 16, whichever is faster. Weights and grids are any: they change no time.
void measure_int8_nets();

}  // namespace coterie::bench
