// Philox4x32-10: random numbers as a pure function of a counter and a key, so that the backward pass can make the same
// ones again instead of keeping them. Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011, and
// its known answers.
#pragma once

#include <array>
#include <cstdint>

namespace coterie::kernels {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

inline PhiloxCounter philox4x32(PhiloxCounter c, PhiloxKey k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
    k = {k[0] + 0x9E3779B9, k[1] + 0xBB67AE85};
  }
  return c;
}

}  // namespace coterie::kernels
