#include "proto/messages/model_outputs.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "base/text/concat.h"

namespace coterie {
namespace {

constexpr std::string_view kPrefix = "output.";

std::string key_of(size_t number) { return std::string(kPrefix) + std::to_string(number); }

Error malformed(const std::string& key, const std::string& what) {
  return Error(ErrorCode::malformed, concat({"model: its property ", key, " ", what}));
}

Result<uint32_t> named_activation(const ModelGraph& graph, const std::string& key, const std::string& name) {
  const auto is_called = [&](const TensorInfo& tensor) { return tensor.name == name; };
  const auto found = std::ranges::find_if(graph.tensors, is_called);
  if (found == graph.tensors.end() || found->role != TensorRole::activation) {
    return malformed(key, concat({"names ", name, ", which no op writes"}));
  }
  if (std::find_if(found + 1, graph.tensors.end(), is_called) != graph.tensors.end()) {
    return malformed(key, concat({"names ", name, ", which two tensors are called"}));
  }
  return static_cast<uint32_t>(found - graph.tensors.begin());
}

}  // namespace

Result<std::vector<uint32_t>> graph_outputs(const ModelGraph& graph) {
  std::vector<uint32_t> outputs = {graph.output};
  const auto begin = graph.properties.lower_bound(std::string(kPrefix));
  size_t said = 0;
  for (auto at = begin; at != graph.properties.end() && at->first.starts_with(kPrefix); ++at) ++said;
  if (said >= kModelOutputsMax) {
    return malformed(key_of(said), concat({"is one too many: a model has at most ", kModelOutputsMax,
                                           " outputs, its own with them"}));
  }
  for (size_t number = 1; number <= said; ++number) {
    const std::string key = key_of(number);
    const auto found = graph.properties.find(key);
    if (found == graph.properties.end()) return malformed(key, "is missing, and others are there");
    COT_ASSIGN(const uint32_t tensor, named_activation(graph, key, found->second));
    if (std::ranges::find(outputs, tensor) != outputs.end()) {
      return malformed(key, concat({"names ", found->second, ", which is an output already"}));
    }
    outputs.push_back(tensor);
  }
  return outputs;
}

std::vector<uint32_t> further_outputs(const ModelGraph& graph) {
  Result<std::vector<uint32_t>> all = graph_outputs(graph);
  if (!all) return {};
  all->erase(all->begin());
  return std::move(*all);
}

void set_graph_outputs(ModelGraph& graph, std::span<const uint32_t> outputs) {
  COT_ASSERT(!outputs.empty() && outputs.size() <= kModelOutputsMax);
  std::erase_if(graph.properties, [](const auto& property) { return property.first.starts_with(kPrefix); });
  graph.output = outputs[0];
  for (size_t i = 1; i < outputs.size(); ++i) graph.properties[key_of(i)] = graph.tensors[outputs[i]].name;
}

}  // namespace coterie
