// HitterRules: which strings a device counts, where a job looks for the most frequent ones. What they mean to the lane:
// hitter_lanes.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coterie {

struct HitterRules {
  uint32_t length_max = 16;            // bytes of a string; as many numbers of an example's input, one a byte
  std::vector<uint8_t> alphabet = {};  // bytes that a string may have, ascending, without 0; empty: all but 0
  uint32_t prefixes_max = 64;          // that a round follows; the table has lanes for so many in each
  uint32_t length = 0;                 // of each prefix
  // What the round follows, ascending: whatever the rounds before have found. The first round follows the empty one.
  std::vector<std::string> prefixes = {""};
  friend bool operator==(const HitterRules&, const HitterRules&) = default;
};

}  // namespace coterie
