// How long to wait before a request is tried again: "full jitter" of M. Brooker, "Exponential Backoff And
// Jitter" (AWS Architecture Blog, 2015): uniform in [0, min(max, base * 2^tries)], so that many who failed
// together do not come back together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/random.h"
#include "base/time.h"

namespace coterie::s3 {

inline Millis backoff(uint32_t tries_before, Millis base, Millis max, Prng& prng) {
  Millis ceiling = std::min(base, max);
  for (uint32_t i = 0; i < tries_before && ceiling < max; ++i) ceiling = std::min(ceiling * 2, max);
  return Millis(static_cast<int64_t>(prng.below(static_cast<uint64_t>(ceiling.count()) + 1)));
}

}  // namespace coterie::s3
