// The inner loop of the sampler: random words to signed noise. Private to secure/dp/noise.
//
// Constant time (Jin et al., S&P 2022, read the noise off the time of a sampler that is not): every threshold is loaded
// for every draw, no address and no branch depends on a random word. The levels give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "secure/dp/noise/noise_table.h"

namespace coterie {

inline constexpr size_t kNoiseGroup = 32;  // draws come in whole groups

// out[i] from word i of `words` (little-endian, 8 or 16 bytes each) for i < count, a multiple of kNoiseGroup. The CPU
// has `level`.
void draw_noise(SimdLevel level, const NoiseTable& table, const uint8_t* words, size_t count, int32_t* out);

}  // namespace coterie
