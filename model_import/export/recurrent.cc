// LSTM, GRU and RNN: the way back of convert/recurrent.cc.
#include "model_import/export/context.h"
#include "model_import/graph/gates.h"

namespace coterie::model_import {
namespace {

Status export_recurrent(ExportContext& context, const OpInfo& op) {
  const auto& a = std::get<RnnAttributes>(op.attributes);
  const RecurrentCell cell = recurrent_cell(op.kind);
  const auto hidden = static_cast<size_t>(a.hidden);
  const auto has = [&](size_t i) { return i < op.inputs.size() && op.inputs[i] != kNoTensor; };
  const int64_t width = static_cast<int64_t>(cell.gates.size() * hidden);
  const int64_t inputs = context.shape(op.inputs[0])[2];
  const auto weight = [&](size_t i, int64_t columns) {
    return context.initializer(op.inputs[i], {1, width, columns},
                               gates_first(context.stored(op.inputs[i]), cell, hidden, static_cast<size_t>(columns)));
  };
  std::vector<std::string> operands{
      context.plain(op.inputs[0]), weight(1, inputs), weight(2, a.hidden), "", "", "", ""};
  if (has(3)) {
    // ONNX has both biases in one table. It is called as the first, and an import finds the second's name by it.
    const size_t size = static_cast<size_t>(width), second = 4 + cell.states;
    std::vector<float> halves = context.stored(op.inputs[3]);
    if (has(second)) {
      const std::vector<float> recurrent = context.stored(op.inputs[second]);
      halves.insert(halves.end(), recurrent.begin(), recurrent.end());
    }
    halves.resize(2 * size);
    std::vector<float> table;
    for (const size_t from : {size_t{0}, size}) {
      const std::vector<float> half = gates_first(std::span(halves).subspan(from, size), cell, hidden, 1);
      table.insert(table.end(), half.begin(), half.end());
    }
    operands[3] = context.initializer(op.inputs[3], {1, 2 * width}, std::move(table));
  }
  for (size_t state = 0; state < cell.states; ++state) {
    if (has(4 + state))
      operands[5 + state] = context.node("Unsqueeze", {context.plain(op.inputs[4 + state]), context.integers({0})});
  }
  while (operands.back().empty()) operands.pop_back();
  std::map<std::string, Attribute> attributes{{"hidden_size", int64_t{a.hidden}},
                                              {"direction", std::string(a.is_reverse ? "reverse" : "forward")}};
  if (op.kind == OpKind::gru) attributes["linear_before_reset"] = int64_t{a.reset_after};
  if (a.is_relu) attributes["activations"] = std::vector<std::string>{"Relu"};
  context.node(cell.name, operands, attributes);
  const size_t at = context.graph.nodes.size() - 1;
  std::vector<std::string> outputs;
  for (size_t i = 0; i < 1 + cell.states; ++i) outputs.push_back(context.unique(op.name + ".state"));
  context.graph.nodes[at].outputs = outputs;
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i] == kNoTensor) continue;
    context.define(op.outputs[i], context.node("Squeeze", {outputs[i], context.integers({i == 0 ? 1 : 0})}));
  }
  return {};
}

}  // namespace

Exporter recurrent_exporter(OpKind kind) {
  return kind == OpKind::lstm || kind == OpKind::gru || kind == OpKind::rnn ? export_recurrent : nullptr;
}

}  // namespace coterie::model_import
