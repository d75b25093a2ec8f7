// The largest values of an update, where a plan asks for no others (proto/messages/top_k.h): which they are, and what
// of them is sent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/messages/top_k.h"

namespace coterie {

struct LargestValues {
  std::vector<uint32_t> indices;  // sent_count, rising
  std::vector<uint16_t> levels;   // one for each; none where values are sent as float32
  float scale = 0;                // of a level (proto/codec/update/sparse_values.h)
};

// The sent_count values of largest magnitude; of equal ones the first. `values` are then what a server makes of what is
// sent: 0 at all other places, and rounded to the nearest level where the rules have levels. All values are finite.
LargestValues take_largest(const TopKRules& rules, std::span<float> values);

}  // namespace coterie
