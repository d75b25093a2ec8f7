// QuantizationRules: an update in few bits a value (UpdateEncoding::quantized), as quantized_lanes.h says.
#pragma once

#include <cstdint>

namespace coterie {

struct QuantizationRules {
  uint32_t bits = 0;              // of a level; 0: updates are not quantized
  bool rotated = false;           // before rounding
  uint32_t contributors_max = 0;  // updates in one sum behind masks; at level none 0
  friend bool operator==(const QuantizationRules&, const QuantizationRules&) = default;
};

}  // namespace coterie
