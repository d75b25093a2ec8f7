#include "device_sdk/runtime/rebuild_model.h"

#include "base/checked.h"
#include "device_sdk/runtime/seal.h"
#include "proto/codec/limits.h"

namespace coterie {

Result<Model> rebuild_model(ModelGraph graph, std::span<const float> parameters, std::vector<uint32_t>* moved_to) {
  std::vector<bool> used(graph.tensors.size());
  for (const OpInfo& op : graph.ops) {
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const uint32_t tensor : *list) {
        if (tensor != kNoTensor) used[tensor] = true;
      }
    }
  }
  for (const uint32_t input : graph.inputs) used[input] = true;
  std::vector<uint32_t> index(graph.tensors.size(), kNoTensor);
  std::vector<TensorInfo> tensors;
  std::vector<float> payload;
  constexpr size_t kStep = limits::kParameterAlignment / sizeof(float);
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    if (!used[i]) continue;
    index[i] = static_cast<uint32_t>(tensors.size());
    TensorInfo& tensor = tensors.emplace_back(graph.tensors[i]);
    if (!has_payload(tensor.role)) continue;
    const auto values = parameters.subspan(tensor.payload_offset / sizeof(float), elements(tensor.shape));
    tensor.payload_offset = payload.size() * sizeof(float);
    payload.insert(payload.end(), values.begin(), values.end());
    payload.resize(round_up<size_t>(payload.size(), kStep));
  }
  const auto move = [&](std::vector<uint32_t>& list) {
    for (uint32_t& each : list) each = each == kNoTensor ? kNoTensor : index[each];
  };
  for (OpInfo& op : graph.ops) {
    move(op.inputs);
    move(op.outputs);
  }
  move(graph.inputs);
  graph.output = index[graph.output];
  graph.tensors = std::move(tensors);
  if (moved_to != nullptr) *moved_to = std::move(index);
  return Model::load(sealed_model_file(graph, payload));
}

}  // namespace coterie
