// The model IR as plain structs: a forward graph over tensors, and where its parameters lie in the payload.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace coterie {

enum class TensorRole : uint8_t { input = 1, parameter = 2, activation = 3 };

// Dimensions. The batch dimension is never part of a stored shape.
using Shape = std::vector<int64_t>;

struct TensorInfo {
  std::string name;
  TensorRole role = TensorRole::activation;
  Shape shape;                  // activation: empty here, inferred when the model is loaded
  uint64_t payload_offset = 0;  // parameter: bytes from the start of the payload, multiple of 64
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

enum class OpKind : uint8_t {
  dense = 1,              // x[b, in], w[in, out], bias[out]            -> y[b, out]
  conv2d,                 // x[b, h, w, c], w[kh, kw, c/g, o], bias[o]  -> y[b, oh, ow, o]
  max_pool2d,             // padding counts as -infinity; of equal values the first wins
  average_pool2d,         // padding is not counted
  global_average_pool2d,  // x[b, h, w, c] -> y[b, c]
  relu,
  add,                    // two inputs of one shape
  flatten,                // x[b, ...] -> y[b, product]
  reshape,
};
std::string_view to_string(OpKind kind);

struct Conv2dAttributes {
  uint32_t stride_h = 1, stride_w = 1;
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  uint32_t groups = 1;
  friend bool operator==(const Conv2dAttributes&, const Conv2dAttributes&) = default;
};

struct Pool2dAttributes {
  uint32_t kernel_h = 1, kernel_w = 1;
  uint32_t stride_h = 1, stride_w = 1;
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  friend bool operator==(const Pool2dAttributes&, const Pool2dAttributes&) = default;
};

struct ReshapeAttributes {
  Shape shape;
  friend bool operator==(const ReshapeAttributes&, const ReshapeAttributes&) = default;
};

struct OpInfo {
  OpKind kind = OpKind::relu;
  std::string name;
  std::vector<uint32_t> inputs;   // indices into ModelGraph::tensors, in the order of OpKind's comment
  std::vector<uint32_t> outputs;
  std::variant<std::monostate, Conv2dAttributes, Pool2dAttributes, ReshapeAttributes> attributes;
  friend bool operator==(const OpInfo&, const OpInfo&) = default;
};

struct ModelGraph {
  std::string name;
  std::vector<TensorInfo> tensors;
  std::vector<OpInfo> ops;  // in an order in which every input is ready
  uint32_t input = 0;
  uint32_t output = 0;
  std::map<std::string, std::string> properties;
  friend bool operator==(const ModelGraph&, const ModelGraph&) = default;
};

// Number of elements; an empty shape has one. Overflow or a dimension below 1 is `malformed`.
Result<uint64_t> element_count(const Shape& shape);

}  // namespace coterie
