// QuantizationRules: an update in few bits a value, on a grid that all devices of a round share
// (UpdateEncoding::quantized), as quantized_lanes.h says; or on one of its own (UpdateEncoding::eden,
// secure/quantize/eden.h), and then `bits` alone.
#pragma once

#include <cstdint>

namespace coterie {

inline constexpr uint32_t kEdenBitsMax = 4;
// Fewer values are not near enough to normal when they are rotated, and take a kilobyte as they are.
inline constexpr uint64_t kEdenValuesMin = 256;

struct QuantizationRules {
  uint32_t bits = 0;              // of a level; 0: updates are not quantized
  bool rotated = false;           // before rounding
  uint32_t contributors_max = 0;  // updates in one sum behind masks; at level none 0
  friend bool operator==(const QuantizationRules&, const QuantizationRules&) = default;
};

}  // namespace coterie
