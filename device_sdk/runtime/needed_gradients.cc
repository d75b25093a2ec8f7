#include "device_sdk/runtime/needed_gradients.h"

namespace coterie {

void spread_needed_gradients(const ModelGraph& graph, const GraphIndex& index, std::span<const TensorType> types,
                             std::vector<bool>& needs) {
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const OpInfo& op = graph.ops[i];
    if (!index.is_needed[i] || rule_of(op.kind)->backward == nullptr) continue;
    for (const uint32_t input : op.inputs) {
      if (input == kNoTensor || !needs[input]) continue;
      for (const uint32_t output : op.outputs) {
        if (output != kNoTensor && types[output].type == DataType::float32) needs[output] = true;
      }
    }
  }
}

}  // namespace coterie
