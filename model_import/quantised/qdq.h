// Graphs whose numbers pass QuantizeLinear and DequantizeLinear, taken apart: the graph in float32, and the grids.
//
// This is the form that ONNX Runtime, PyTorch and TensorRT call QDQ: weights and biases are integers behind a
// DequantizeLinear (or floats behind both), each activation passes both. int8 and uint8 are the same grids: a uint8
// with zero z is an int8 with zero z - 128.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model_import/graph/graph.h"

namespace coterie::model_import {

struct QdqGrid {
  float scale = 1;
  int8_t zero = 0;
  friend bool operator==(const QdqGrid&, const QdqGrid&) = default;
};

// A table that was integers. In the graph it is scale * integer, float32, under the name of the integers.
struct QdqTable {
  std::vector<float> scales;    // one, or one a place on an axis
  std::vector<int32_t> values;  // as the graph has them, without their zero
  bool is_bias = false;         // int32
};

struct QdqGraph {
  Graph graph;                             // without both operators
  std::map<std::string, QdqGrid> grids;    // of values of the graph that are no constants
  std::map<std::string, QdqTable> tables;  // by the constant's name
};

// Whether it has any of both operators.
bool has_qdq(const Graph& graph);

// Errors, invalid_argument, name the node: other widths; a weight of -128 (ours end at -127); scales or zeros that are
// not known, or not of one for all or one a place; a value that some read on the grid and others do not; integers that
// anything but DequantizeLinear reads, or that are the input or the output.
Result<QdqGraph> take_qdq(Graph graph);

}  // namespace coterie::model_import
