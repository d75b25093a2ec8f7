#include "device_sdk/runtime/model_part.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/text/concat.h"
#include "device_sdk/runtime/rebuild_model.h"
#include "proto/messages/model_outputs.h"

namespace coterie {
namespace {

// Which tensors `tensor` is computed from.
std::vector<bool> needed_for(const ModelGraph& graph, uint32_t tensor) {
  std::vector<bool> needed(graph.tensors.size());
  needed[tensor] = true;
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    if (std::ranges::none_of(op->outputs, [&](uint32_t output) { return output != kNoTensor && needed[output]; }))
      continue;
    for (const uint32_t input : op->inputs) {
      if (input != kNoTensor) needed[input] = true;
    }
    // All of its outputs stay, as it writes them.
    for (const uint32_t output : op->outputs) {
      if (output != kNoTensor) needed[output] = true;
    }
  }
  return needed;
}

}  // namespace

bool is_activation(const ModelGraph& graph, uint32_t tensor) {
  const auto writes = [&](const OpInfo& op) { return std::ranges::find(op.outputs, tensor) != op.outputs.end(); };
  return std::ranges::find(graph.inputs, tensor) != graph.inputs.end() || std::ranges::any_of(graph.ops, writes);
}

Result<uint32_t> find_activation(const ModelGraph& graph, std::string_view name) {
  for (uint32_t tensor = 0; tensor < graph.tensors.size(); ++tensor) {
    if (graph.tensors[tensor].name == name && is_activation(graph, tensor)) return tensor;
  }
  return Error(ErrorCode::invalid_argument,
               concat({"the model ", graph.name, " has no input, and no value that an op writes, of the name ", name}));
}

Result<Model> model_ending_with(const Model& model, uint32_t tensor) {
  ModelGraph graph = model.graph();
  const std::vector<bool> needed = needed_for(graph, tensor);
  std::erase_if(graph.ops, [&](const OpInfo& op) {
    return std::ranges::none_of(op.outputs, [&](uint32_t output) { return output != kNoTensor && needed[output]; });
  });
  set_graph_outputs(graph, std::span(&tensor, 1));  // what the whole answers beside its own need not be there
  return rebuild_model(std::move(graph), model.parameters());
}

Result<Model> with_own_output(Model model) {
  if (further_outputs(model.graph()).empty()) return model;
  return model_ending_with(model, model.graph().output);
}

}  // namespace coterie
