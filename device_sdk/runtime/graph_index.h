// Who makes and who reads each tensor, over the ops that the outputs depend on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/messages/model.h"

namespace coterie {

inline constexpr uint32_t kNoOp = ~0u;

struct GraphIndex {
  // What the graph's own output depends on, and these tensors beside it (model_outputs.h).
  explicit GraphIndex(const ModelGraph& graph, std::span<const uint32_t> further_outputs = {});

  std::vector<bool> is_needed;                   // per op; the others are never run
  std::vector<uint32_t> producer;                // per tensor: its op, or kNoOp
  std::vector<std::vector<uint32_t>> consumers;  // per tensor: needed ops, once for each time they read it; each
                                                 // output is also read by kNoOp
  bool has_one_reader(uint32_t tensor) const { return consumers[tensor].size() == 1; }
};

}  // namespace coterie
