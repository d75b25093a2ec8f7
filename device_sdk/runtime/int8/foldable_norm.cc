#include "device_sdk/runtime/int8/foldable_norm.h"

namespace coterie {

uint32_t layer_of_norm(const ModelGraph& graph, const GraphIndex& index, const OpInfo& norm) {
  if (norm.kind != OpKind::batch_norm || !index.has_one_reader(norm.inputs[0])) return kNoOp;
  const uint32_t maker = index.producer[norm.inputs[0]];
  if (maker == kNoOp) return kNoOp;
  const OpInfo& layer = graph.ops[maker];
  const auto is_own = [&](uint32_t tensor) {
    return graph.tensors[tensor].role == TensorRole::parameter && index.has_one_reader(tensor);
  };
  if ((layer.kind != OpKind::dense && layer.kind != OpKind::conv2d) || !is_own(layer.inputs[1])) return kNoOp;
  const bool has_bias = layer.inputs.size() > 2 && layer.inputs[2] != kNoTensor;
  return is_own(has_bias ? layer.inputs[2] : norm.inputs[2]) ? maker : kNoOp;
}

}  // namespace coterie
