// A model as a chain of layers that can be written as C, or the reason why it cannot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "train_kernels/shapes.h"

namespace coterie {

enum class MicroKind : uint8_t { dense, conv2d, max_pool2d, average_pool2d, relu, softmax };

struct MicroLayer {
  MicroKind kind = MicroKind::relu;
  std::string name;  // of the op, as the model has it
  // One example has it: batch is 1. Relu and softmax have none.
  std::variant<std::monostate, kernels::DenseShape, kernels::Conv2dShape, kernels::Pool2dShape> shape = {};
  bool has_relu = false;                           // dense, conv2d: max(y, 0) follows, without a buffer of its own
  std::optional<uint32_t> weight = {}, bias = {};  // dense, conv2d: tensors of the graph; the bias may be absent
  uint64_t in = 0, out = 0;                        // elements of one example
};

// The layers between the one input and the output, in their order. Flatten, reshape, identity and (it predicts) dropout
// are none: they move no element. Every count fits 31 bits.
//
// Errors: invalid_argument names the op or the input and says what to do: an op outside of MicroKind, one that does
// not read what the op before it wrote (branches), several inputs, integers, another layout of the batch, a shared
// weight. With `trains` also: dropout and softmax (which training has itself), and nothing that could be trained.
Result<std::vector<MicroLayer>> micro_layers(const Model& model, bool trains);

}  // namespace coterie
