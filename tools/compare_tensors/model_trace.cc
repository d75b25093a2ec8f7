#include "tools/compare_tensors/model_trace.h"

#include <algorithm>
#include <map>

#include "device_sdk/runtime/model.h"
#include "tools/compare_tensors/layer_outputs.h"

namespace coterie {

static_assert(kTracedBytesMax == kLayerOutputBytesMax);

Result<TensorTrace> trace_of(const Model& model, const std::vector<std::vector<float>>& inputs, uint32_t batch) {
  COT_ASSIGN(std::vector<LayerOutput> outputs, layer_outputs(model, inputs, batch));
  const ModelGraph& graph = model.graph();
  TensorTrace trace;
  std::map<uint32_t, uint32_t> places;  // of the graph's tensors
  for (const uint32_t input : graph.inputs) {
    places[input] = trace.inputs++;
    trace.tensors.push_back({.name = graph.tensors[input].name, .layer = {}, .kind = "input", .reads = {}});
  }
  for (uint32_t op = 0; op < graph.ops.size(); ++op) {
    const OpInfo& info = graph.ops[op];
    TracedTensor tensor{.name = info.name, .layer = info.name, .kind = std::string(to_string(info.kind)), .reads = {}};
    for (const uint32_t input : info.inputs) {
      const auto read = places.find(input);
      if (read != places.end() && std::ranges::find(tensor.reads, read->second) == tensor.reads.end())
        tensor.reads.push_back(read->second);
    }
    const auto output = std::ranges::find(outputs, op, &LayerOutput::op);
    if (output != outputs.end()) {
      tensor.shape = output->shape;
      tensor.values = std::move(output->values);
      tensor.has_numbers = true;
    }
    for (const uint32_t made : info.outputs) {
      if (made != kNoTensor) places[made] = static_cast<uint32_t>(trace.tensors.size());
    }
    trace.tensors.push_back(std::move(tensor));
  }
  const auto output = places.find(graph.output);
  if (output != places.end()) trace.outputs.push_back(output->second);
  return trace;
}

}  // namespace coterie
