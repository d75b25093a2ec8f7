// Lanes of any session in words of 64 bits, so that what looks at sums need not know their width.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "secure/crypto/digest.h"

namespace coterie::test {

inline uint64_t ring_mask(uint32_t ring_bits) {
  return ring_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << ring_bits) - 1;
}

// f(std::span<Lane>) on lanes of lane_bits (16, 32 or 64), there and back.
template <typename F>
Status with_lanes(uint32_t lane_bits, std::vector<uint64_t>& wide, F f) {
  const auto run = [&]<typename Lane>(Lane) -> Status {
    std::vector<Lane> lanes(wide.begin(), wide.end());
    COT_TRY(f(std::span(lanes)));
    wide.assign(lanes.begin(), lanes.end());
    return {};
  };
  switch (lane_bits) {
    case 16: return run(uint16_t{});
    case 32: return run(uint32_t{});
    default: return run(uint64_t{});
  }
}

// Digest of the words: what a frame says of its payload, whatever the width.
inline Digest lanes_digest(const std::vector<uint64_t>& wide) {
  return content_digest({reinterpret_cast<const uint8_t*>(wide.data()), wide.size() * sizeof(uint64_t)});
}

}  // namespace coterie::test
