// Model files as ONNX models of opset 17.
//
// Weights keep their names and, where the layer is one of PyTorch's, the shape that PyTorch gives them (Gemm
// [out, in], Conv [out, in, h, w]); elements are moved, never computed, except that the bias of an LSTM or
// RNN becomes the first of ONNX's two halves and the other one is zero. Images are NCHW as everywhere in
// ONNX: an input that the model has as NHWC ("input_layout") is NCHW in the file. The batch is the symbol
// "batch". Ops that ONNX lacks are written out.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// Errors: invalid_argument (an op that no ONNX operator of opset 17 can say: adaptive pooling into unequal
// windows), too_large.
Result<Bytes> export_onnx(const Model& model);

}  // namespace coterie
