// A wave: steps of a Program that are run as branches, at the same time (waves.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coterie {

inline constexpr size_t kWaveBranchesMax = 32;

// Steps [begin, branch_ends[0]) are the first branch, and so on; the longest comes first.
struct Wave {
  uint32_t begin = 0;
  std::vector<uint32_t> branch_ends = {};

  size_t branches() const { return branch_ends.size(); }
  uint32_t branch_begin(size_t branch) const { return branch == 0 ? begin : branch_ends[branch - 1]; }
  uint32_t end() const { return branch_ends.back(); }
};

}  // namespace coterie
