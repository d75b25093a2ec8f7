// RangeRules: of which tensors of a model a device counts the values by magnitude, so that int8 grids can be laid over
// them. What it means to the lane: range_lanes.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coterie {

struct RangeRules {
  std::vector<std::string> tensors = {};  // names of the model's input, or of what its ops write
  // Magnitudes from 2^exponent_low to below 2^exponent_high have bins of their own, `steps` in each octave.
  int32_t exponent_low = -10, exponent_high = 8;
  uint32_t steps = 4;
  uint32_t positions = 256;   // values of a tensor that count of an example at most
  bool is_normalised = true;  // whether each device counts as one, however many values it has
  friend bool operator==(const RangeRules&, const RangeRules&) = default;
};

}  // namespace coterie
