// A model as a graph that a file format can hold.
//
// Weights keep their names and, where the layer is one of PyTorch's, the shape that PyTorch gives them (Gemm
// [out, in], Conv [out, in, h, w]); elements are moved, never computed. The two biases of a recurrent layer are the
// halves of the operator's one table, under the first one's name; where an LSTM or RNN has one, the other half is
// zero. Images are NCHW: an input that the model has as NHWC ("input_layout") is NCHW in the graph. The batch is the
// symbol "batch". Ops that the vocabulary lacks are written out.
#pragma once

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "model_import/export/grids.h"
#include "model_import/graph/graph.h"

namespace coterie::model_import {

// The operators are those of opset 17, the first with LayerNormalization. Errors: invalid_argument (an op that no
// operator of it can say: adaptive pooling into unequal windows), too_large.
// With grids, the model computes in int8: weights and biases are integers behind DequantizeLinear, and each value of
// the network passes QuantizeLinear and DequantizeLinear (the form that ONNX Runtime calls QDQ).
Result<Graph> export_graph(const Model& model, const ExportGrids* grids = nullptr);

}  // namespace coterie::model_import
