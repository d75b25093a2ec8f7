#include "fl_server/model_view/model_graph_json.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "device_sdk/runtime/shape_inference.h"
#include "fl_server/model_view/layer_blocks.h"

namespace coterie {
namespace {

using nlohmann::json;

// How many ops are shown.
size_t shown_ops(const ModelGraph& graph) {
  size_t ops = 0, operands = 0;
  for (const OpInfo& op : graph.ops) {
    operands += op.inputs.size() + op.outputs.size();
    if (ops == kShownOpsMax || operands > kShownOperandsMax) break;
    ++ops;
  }
  return ops;
}

class GraphWriter {
 public:
  GraphWriter(const ModelGraph& graph, const std::vector<TensorType>& types)
      : graph_(graph), types_(types), makers_(graph.tensors.size()), is_counted_(graph.tensors.size(), false) {}

  Result<json> write() {
    json inputs = json::array();
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const uint32_t tensor = graph_.inputs[i];
      makers_[tensor] = json{{"input", i}};
      inputs.push_back({{"name", graph_.tensors[tensor].name},
                        {"shape", types_[tensor].shape},
                        {"type", to_string(types_[tensor].type)}});
    }
    const size_t shown = shown_ops(graph_);
    json ops = json::array();
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      COT_ASSIGN(json op, op_json(i));
      if (i < shown) ops.push_back(std::move(op));
    }
    const std::vector<LayerBlock> blocks = layer_blocks(std::span(graph_.ops).first(shown));
    json shown_blocks = json::array();
    for (uint32_t i = 0; i < blocks.size(); ++i) {
      const LayerBlock& block = blocks[i];
      uint64_t values = 0;
      for (uint32_t op = block.first; op < block.first + block.count; ++op) {
        values += values_[op];
        ops[op]["block"] = i;  // the innermost comes last
      }
      shown_blocks.push_back({{"name", block.name}, {"first", block.first}, {"ops", block.count}, {"values", values}});
      if (block.parent != kNoBlock) shown_blocks.back()["parent"] = block.parent;
    }
    return json{{"name", graph_.name},
                {"inputs", std::move(inputs)},
                {"output", makers_[graph_.output]},
                {"ops", std::move(ops)},
                {"ops_left_out", graph_.ops.size() - shown},
                {"blocks", std::move(shown_blocks)},
                {"values", values_in_all_}};
  }

 private:
  Result<json> op_json(size_t index) {
    const OpInfo& op = graph_.ops[index];
    json reads = json::array(), outputs = json::array(), parameters = json::array();
    uint64_t values = 0;
    size_t shared = 0;
    for (const uint32_t input : op.inputs) {
      if (input == kNoTensor) continue;
      const TensorInfo& tensor = graph_.tensors[input];
      if (!has_payload(tensor.role)) {
        if (!makers_[input].is_null()) reads.push_back(makers_[input]);
      } else if (is_counted_[input]) {
        ++shared;
      } else {
        is_counted_[input] = true;
        COT_ASSIGN(const uint64_t count, element_count(tensor.shape));
        values += count;
        parameters.push_back({{"name", tensor.name}, {"shape", tensor.shape}, {"values", count}});
      }
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const uint32_t output = op.outputs[i];
      if (output != kNoTensor) makers_[output] = json{{"op", index}, {"output", i}};
      outputs.push_back(output == kNoTensor ? json() : json(types_[output].shape));
    }
    values_.push_back(values);
    values_in_all_ += values;
    json shown = {{"name", op.name},    {"kind", to_string(op.kind)},          {"reads", std::move(reads)},
                  {"outputs", outputs}, {"parameters", std::move(parameters)}, {"values", values}};
    if (shared > 0) shown["shared_parameters"] = shared;
    return shown;
  }

  const ModelGraph& graph_;
  const std::vector<TensorType>& types_;
  std::vector<json> makers_;      // of each tensor: who makes it; null: nobody, it is stored
  std::vector<bool> is_counted_;  // of each tensor: an op before has it among its parameters
  std::vector<uint64_t> values_;  // of each op
  uint64_t values_in_all_ = 0;
};

}  // namespace

Result<json> model_graph_json(const ModelGraph& graph) {
  COT_ASSIGN(const SymbolicTypes symbolic, infer_symbolic(graph));
  return GraphWriter(graph, symbolic.types).write();
}

}  // namespace coterie
