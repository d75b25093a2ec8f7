// Who makes and who reads each tensor, over the ops that the output depends on.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/messages/model.h"

namespace coterie {

inline constexpr uint32_t kNoOp = ~0u;

struct GraphIndex {
  explicit GraphIndex(const ModelGraph& graph);

  std::vector<bool> is_needed;                   // per op; the others are never run
  std::vector<uint32_t> producer;                // per tensor: its op, or kNoOp
  std::vector<std::vector<uint32_t>> consumers;  // per tensor: needed ops, once for each time they read it; the graph's
                                                 // output is also read by kNoOp
  bool has_one_reader(uint32_t tensor) const { return consumers[tensor].size() == 1; }
};

}  // namespace coterie
