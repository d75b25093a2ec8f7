#include "device_sdk/runtime/graph_index.h"

#include <algorithm>

namespace coterie {

GraphIndex::GraphIndex(const ModelGraph& graph, std::span<const uint32_t> further_outputs)
    : is_needed(graph.ops.size()), producer(graph.tensors.size(), kNoOp), consumers(graph.tensors.size()) {
  std::vector<bool> tensor_needed(graph.tensors.size());
  const auto ask = [&](uint32_t output) {
    tensor_needed[output] = true;
    consumers[output].push_back(kNoOp);
  };
  ask(graph.output);
  std::ranges::for_each(further_outputs, ask);
  for (uint32_t i = 0; i < graph.ops.size(); ++i) {
    for (const uint32_t tensor : graph.ops[i].outputs) {
      if (tensor != kNoTensor) producer[tensor] = i;
    }
  }
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const OpInfo& op = graph.ops[i];
    is_needed[i] = std::any_of(op.outputs.begin(), op.outputs.end(),
                               [&](uint32_t tensor) { return tensor != kNoTensor && tensor_needed[tensor]; });
    if (!is_needed[i]) continue;
    for (const uint32_t tensor : op.inputs) {
      if (tensor == kNoTensor) continue;
      tensor_needed[tensor] = true;
      consumers[tensor].push_back(static_cast<uint32_t>(i));
    }
  }
}

}  // namespace coterie
