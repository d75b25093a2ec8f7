// A network that computes in int8, as data: what each step reads, writes and multiplies with. How: the contract of
// train_kernels/int8/kernels.h.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/int8/int8_layers.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/stored_model_file.h"
#include "train_kernels/int8/kernels.h"

namespace coterie {

struct Int8Value {
  uint64_t elements = 0;  // of one example
  kernels::int8::Grid grid;
};

struct Int8Step {
  Int8Kind kind = Int8Kind::clamp;
  std::string name;                   // of the op, as the model has it
  std::vector<uint32_t> inputs = {};  // indices of values: two of add, else one
  uint32_t output = 0;
  Int8Shape shape = {};              // of one example: batch is 1
  std::vector<int8_t> weights = {};  // dense, conv2d: in the order that the shape says, in [-127, 127]
  std::vector<int32_t> bias = {};    // dense, conv2d: one an output
  // dense, conv2d: one an output; average_pool2d: one; add: one an operand.
  std::vector<float> multipliers = {};
  kernels::int8::Target to = {};  // its bounds also of clamp; max_pool2d has none

  kernels::int8::Weighted weighted(int8_t zero_in) const {
    return {weights.data(), bias.data(), multipliers.data(), zero_in, to};
  }
};

// Whatever has this type is sound: operands exist and have the sizes that the shapes say, no sum leaves an int32, each
// multiplier is finite and no denormal number.
struct Int8Program {
  std::string name;
  Shape input_shape, output_shape;  // of one example
  std::vector<Int8Value> values;    // the first is the input; the others are each written by one step
  std::vector<Int8Step> steps;      // in an order in which every input is ready
  uint32_t output = 0;              // a value; what is answered is real numbers
  bool has_softmax = false;         // behind it, in float32

  int8_t zero_of(uint32_t value) const { return values[value].grid.zero; }
};

// Value 0 is the input, value i + 1 the output of layer i of int8_layers, which is step i.
//
// The program of a model whose weights were rounded to `weights` (scale * value is what the model has) and whose inputs
// and activations lie on `grids`; both sorted by tensor. A bias b of the model becomes round(b / (scale_in *
// scale_weight)), both operations in float32.
//
// Errors: those of int8_layers; malformed, naming the op or the tensor: a weight of a layer that is not int8 by its
// last dimension, a grid that is missing or that nothing needs, a sum that could leave an int32, a multiplier that is
// no normal number, a window with too many pixels, a clip by itself whose bounds lie beyond the grid that it keeps.
Result<Int8Program> make_int8_program(const Model& model, const std::vector<Int8Weights>& weights,
                                      const std::vector<TensorGrid>& grids);

}  // namespace coterie
