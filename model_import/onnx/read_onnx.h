// ONNX bytes to an imported graph. With write_onnx the only code that knows protobuf.
#pragma once

#include "base/bytes.h"
#include "model_import/graph/graph.h"
#include "model_import/graph/host_value.h"

namespace coterie::model_import {

inline constexpr int64_t kOpsetMin = 11, kOpsetMax = 22;  // of a graph that was read
inline constexpr int64_t kOpsetReadMin = 1;               // of a file

// Limits of what is read; a model over one of them is `too_large`.
inline constexpr uint64_t kOnnxFileBytesMax = (1ull << 31) - 1;  // protobuf's own
inline constexpr int kNestingMax = 32;                           // messages inside messages; ONNX without bodies has 7
inline constexpr size_t kNodesMax = 16'384;                      // with those of bodies

// Errors: malformed (not protobuf; tensors whose data and shape disagree; nodes that form a cycle),
// too_large, invalid_argument (an opset outside 1..22, one before 11 with an operator that meant something else,
// weights in other files, sparse or string tensors: each says what to do). Nodes come out sorted, of opset 11 or later.
// Inputs of other forms than tensors, and nodes with bodies, are for the interpreter.
Result<Graph> read_onnx(ByteView file);

// The tensor of a file such as test_data_set_0/input_0.pb.
Result<HostTensor> read_onnx_tensor(ByteView file);
// The value of such a file that an input or output of that form has: a TensorProto of numbers or texts, a SequenceProto
// or an OptionalProto. Errors: malformed, too_large; invalid_argument (sparse tensors and maps).
Result<HostValue> read_onnx_value(ByteView file, Form form);

}  // namespace coterie::model_import
