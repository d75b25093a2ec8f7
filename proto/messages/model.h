// The model IR as plain structs: a forward graph over tensors, and where its parameters lie in the payload.
//
// Images are NHWC. Every tensor but a parameter or a constant may hold the batch, in any dimension, by itself or
// multiplied (heads times batch); a model fits every batch size.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/op_attributes.h"

namespace coterie {

// parameter   trained, or frozen; part of the flat vector that an update is a difference of
// state       part of the flat vector, but set by training, not by a gradient: running statistics
// constant    lies in the graph itself, never changes
enum class TensorRole : uint8_t { input = 1, parameter = 2, activation = 3, state = 4, constant = 5 };
enum class DataType : uint8_t { float32 = 1, int32 = 2 };
inline constexpr size_t kElementBytes = 4;  // of either
std::string_view to_string(DataType type);

struct TensorInfo {
  std::string name;
  TensorRole role = TensorRole::activation;
  Shape shape = {};             // input: without the batch, which is its first dimension; activation: empty, inferred
  uint64_t payload_offset = 0;  // parameter, state: bytes from the start of the payload, multiple of 64
  DataType type = DataType::float32;  // parameter, state: always float32; activation: float32 here, inferred
  bool is_frozen = false;             // parameter: training leaves it alone unless it is told otherwise
  Bytes data = {};                    // constant: its elements, little-endian
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

// The values are part of the file format: new ones at the end.
enum class OpKind : uint8_t {
  dense = 1,              // x[.., in], w[in, out], bias[out]              -> y[.., out]
  conv2d,                 // x[b, h, w, c], w[kh, kw, c/g, o], bias[o]     -> y[b, oh, ow, o]
  max_pool2d,             // padding counts as -infinity; of equal values the first wins
  average_pool2d,         // padding is not counted, unless count_padding
  global_average_pool2d,  // x[b, h, w, c] -> y[b, c]
  relu,
  add,               // two operands that broadcast as in NumPy, as of every op with two
  flatten,           // x[b, ...] -> y[b, product]
  reshape,           // same elements in the same order
  matmul,            // a[.., m, k], b[.., k, n] -> y[.., m, n]; leading dimensions broadcast
  conv_transpose2d,  // x[b, h, w, c], w[kh, kw, o/g, c], bias[o] -> y[b, oh, ow, o]: the gradient of conv2d by its
                     // input
  adaptive_average_pool2d,  // PyTorch: window i covers [floor(i h / oh), ceil((i + 1) h / oh))
  adaptive_max_pool2d,
  batch_norm,  // x[.., c], scale[c], bias[c], mean[c], variance[c] (both state)
  layer_norm,  // x, scale, bias over the last `axes` dimensions; scale and bias may be absent
  rms_norm,    // x, scale
  group_norm,  // x[b, .., c], scale[c], bias[c]; instance norm has as many groups as channels
  relu6,
  leaky_relu,
  prelu,  // x[.., c], slope[c] or slope[1]
  elu,
  selu,
  gelu,       // x Phi(x), by erf
  gelu_tanh,  // its approximation by tanh
  sigmoid,
  hard_sigmoid,
  hard_swish,  // x clip(x / 6 + 1/2, 0, 1)
  swish,       // x sigmoid(x)
  tanh,
  softplus,
  clip,
  sqrt,
  exp,
  log,
  abs,
  neg,
  reciprocal,
  erf,
  softmax,
  log_softmax,
  sub,
  mul,
  div,
  pow,
  minimum,
  maximum,
  where,  // condition (int32), a, b: a where the condition is not 0
  equal,  // int32, 1 or 0
  less,
  greater,
  cast,
  reduce_sum,
  reduce_mean,
  reduce_max,
  reduce_min,
  reduce_l2,
  concat,  // any number of operands
  split,   // one output a size
  slice,
  pad,
  gather,     // x, indices (int32): the axis of x is replaced by the shape of the indices
  embedding,  // table[n, d], indices (int32)[..] -> y[.., d]
  expand,     // broadcasts to a shape
  transpose,
  resize2d,
  dropout,
  lstm,       // x[t, b, i], w[i, 4h], r[h, 4h], bias[4h]?, h0[b, h]?, c0[b, h]?, bias_r[4h]? -> y, h_n, c_n; i f g o
  gru,        // x[t, b, i], w[i, 3h], r[h, 3h], bias[6h or, with bias_r, 3h]?, h0?, bias_r[3h]? -> y, h_n; gates r z n
  rnn,        // x[t, b, i], w[i, h], r[h, h], bias[h]?, h0?, bias_r[h]? -> y[t, b, h], h_n: all as ops/rnn.cc says
  attention,  // q[b, t, d], k[b, s, d], v[b, s, d], mask (added, broadcast to [b, heads, t, s])? -> y[b, t, d]
  identity,
};
inline constexpr size_t kOpKinds = 71;
std::string_view to_string(OpKind kind);  // "unknown" for a value that is none

inline constexpr uint32_t kNoTensor = ~0u;  // an optional operand that is absent

struct OpInfo {
  OpKind kind = OpKind::relu;
  std::string name;
  std::vector<uint32_t> inputs;  // indices into ModelGraph::tensors, in the order of OpKind's comment, or kNoTensor
  std::vector<uint32_t> outputs = {};  // likewise
  OpAttributes attributes = {};        // of the alternative that default_attributes(kind) has
  friend bool operator==(const OpInfo&, const OpInfo&) = default;
};

// What this kind of op takes, with its defaults.
OpAttributes default_attributes(OpKind kind);

struct ModelGraph {
  std::string name;
  std::vector<TensorInfo> tensors;
  std::vector<OpInfo> ops;  // in an order in which every input is ready
  std::vector<uint32_t> inputs;
  uint32_t output = 0;
  std::map<std::string, std::string> properties;
  friend bool operator==(const ModelGraph&, const ModelGraph&) = default;
};

// Whether it has a place in the payload: parameter, state.
inline bool has_payload(TensorRole role) { return role == TensorRole::parameter || role == TensorRole::state; }

// Number of elements; an empty shape has one. Overflow or a dimension below 1 is `malformed`.
Result<uint64_t> element_count(const Shape& shape);
// The shape for so many examples: every -k becomes k * batch.
Shape at_batch(const Shape& shape, uint64_t batch);

}  // namespace coterie
