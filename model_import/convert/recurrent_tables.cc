#include "model_import/convert/recurrent_tables.h"

#include <algorithm>

namespace coterie::model_import {
namespace {

bool is_recurrent(const Node& node) { return node.op == "LSTM" || node.op == "GRU" || node.op == "RNN"; }

bool only_moves(const Node& node) {
  static const std::set<std::string> ops = {"Concat", "Identity", "Reshape",   "Slice",
                                            "Split",  "Squeeze",  "Transpose", "Unsqueeze"};
  return ops.contains(node.op);
}

}  // namespace

std::set<std::string> recurrent_tables(const Graph& graph) {
  std::set<std::string> tables, read_elsewhere;
  for (const GraphValue& output : graph.outputs) read_elsewhere.insert(output.name);
  // Backwards: who reads a value stands behind it.
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const bool moves_tables = only_moves(node) && std::ranges::all_of(node.outputs, [&](const std::string& output) {
                                return tables.contains(output) && !read_elsewhere.contains(output);
                              });
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_table = (is_recurrent(node) && i >= 1 && i <= 3) || moves_tables;
      (is_table ? tables : read_elsewhere).insert(node.inputs[i]);
    }
  }
  std::erase_if(tables, [&](const std::string& name) { return read_elsewhere.contains(name); });
  return tables;
}

}  // namespace coterie::model_import
