// Which layers of a model compute what in int8, or the reason why they cannot: its structure, without any number.
//
// An op that moves no element (flatten, reshape, identity, and dropout outside of training) is no layer: what it writes
// is the value that it reads. A ReLU, ReLU6 or clip right behind a dense layer, a convolution, an average pool or a
// sum is part of it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "train_kernels/shapes.h"

namespace coterie {

enum class Int8Kind : uint8_t { dense, conv2d, max_pool2d, average_pool2d, add, clamp };
std::string_view to_string(Int8Kind kind);

// One example has it: batch is 1. Add and clamp have none.
using Int8Shape = std::variant<std::monostate, kernels::DenseShape, kernels::Conv2dShape, kernels::Pool2dShape>;

struct Int8Layer {
  Int8Kind kind = Int8Kind::clamp;
  std::string name;              // of the op
  std::vector<uint32_t> inputs;  // tensors that are values: the model's input, or another layer's output
  uint32_t output = 0;           // likewise
  Int8Shape shape = {};
  uint32_t weight = kNoTensor, bias = kNoTensor;  // dense, conv2d: parameters; the bias may be absent
  // Real bounds of the output.
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();

  bool is_weighted() const { return kind == Int8Kind::dense || kind == Int8Kind::conv2d; }
  // Whether its output lies on the grid of its input.
  bool keeps_grid() const { return kind == Int8Kind::max_pool2d || kind == Int8Kind::clamp; }
};

struct Int8Layers {
  std::vector<Int8Layer> layers;   // in the model's order
  uint32_t input = 0, output = 0;  // tensors that are values
  bool has_softmax = false;        // behind the output
};

// stored   as it is rounded: norms and transposes are folded into layers (tools/model/quantise_full.h)
// trained  before that. A batch norm is part of the layer that it will be folded into; a transpose moves elements
enum class Int8Stage : uint8_t { stored, trained };

// Dense, conv2d, max_pool2d, average_pool2d, global_average_pool2d, add of two values of one shape, relu, relu6, clip,
// what moves no element, and softmax at the end. One float32 input. Errors: invalid_argument names the op or the input
// and says what to do.
Result<Int8Layers> int8_layers(const Model& model, Int8Stage stage = Int8Stage::stored);

// The tensors that must have a grid, ascending: the input, and outputs of layers that do not keep one.
std::vector<uint32_t> int8_grid_tensors(const Int8Layers& layers);

}  // namespace coterie
