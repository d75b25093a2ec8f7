// The gates of recurrent layers: ONNX has them as rows, i o f c (LSTM) and z r h (GRU); a model has them as
// columns, i f g o and r z n.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "proto/messages/model.h"

namespace coterie::model_import {

struct RecurrentCell {
  const char* name;  // ONNX's
  OpKind kind;
  std::vector<size_t> gates;  // the ONNX gate that is gate k of a model
  size_t states;              // h, and c
};
RecurrentCell recurrent_cell(const std::string& op);
RecurrentCell recurrent_cell(OpKind kind);

// [gates hidden, columns] as [columns, gates hidden], and back.
std::vector<float> gates_last(std::span<const float> values, const RecurrentCell& cell, size_t hidden, size_t columns);
std::vector<float> gates_first(std::span<const float> values, const RecurrentCell& cell, size_t hidden, size_t columns);

}  // namespace coterie::model_import
