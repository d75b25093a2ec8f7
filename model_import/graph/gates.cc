#include "model_import/graph/gates.h"

namespace coterie::model_import {
namespace {

// Calls visit(index in ONNX's form, index in the model's).
template <typename Visit>
void for_each_weight(const RecurrentCell& cell, size_t hidden, size_t columns, Visit&& visit) {
  const size_t width = cell.gates.size() * hidden;
  for (size_t gate = 0; gate < cell.gates.size(); ++gate) {
    for (size_t h = 0; h < hidden; ++h) {
      const size_t row = cell.gates[gate] * hidden + h;
      for (size_t c = 0; c < columns; ++c) visit(row * columns + c, c * width + gate * hidden + h);
    }
  }
}

}  // namespace

RecurrentCell recurrent_cell(OpKind kind) {
  if (kind == OpKind::lstm) return {"LSTM", kind, {0, 2, 3, 1}, 2};
  if (kind == OpKind::gru) return {"GRU", kind, {1, 0, 2}, 1};
  return {"RNN", OpKind::rnn, {0}, 1};
}

RecurrentCell recurrent_cell(const std::string& op) {
  return recurrent_cell(op == "LSTM" ? OpKind::lstm : op == "GRU" ? OpKind::gru : OpKind::rnn);
}

std::vector<float> gates_last(std::span<const float> values, const RecurrentCell& cell, size_t hidden, size_t columns) {
  std::vector<float> result(values.size());
  for_each_weight(cell, hidden, columns, [&](size_t onnx, size_t model) { result[model] = values[onnx]; });
  return result;
}

std::vector<float> gates_first(std::span<const float> values, const RecurrentCell& cell, size_t hidden,
                               size_t columns) {
  std::vector<float> result(values.size());
  for_each_weight(cell, hidden, columns, [&](size_t onnx, size_t model) { result[onnx] = values[model]; });
  return result;
}

}  // namespace coterie::model_import
