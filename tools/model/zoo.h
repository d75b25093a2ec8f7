// The model zoo: small networks to start a job with, freshly initialised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

enum class ModelKind : uint8_t {
  mlp,       // flatten, dense 64 (128 from 28 x 28 inputs on), relu, dense
  cnn,       // conv3x3 16, relu, conv3x3 32, relu, maxpool 2, dense 64, relu, dense; padded, so it fits 8 x 8 digits
  lenet5,    // conv5x5 6 (padded), relu, pool, conv5x5 16, relu, pool, dense 120, relu, dense 84, relu, dense: LeCun et
             // al. 1998, with ReLU and max pooling as it is built today
  logistic,  // flatten, dense: softmax regression
};
std::string_view to_string(ModelKind kind);
std::optional<ModelKind> model_kind_from(std::string_view name);

// All names, for messages: "mlp, logistic, cnn, lenet5".
std::vector<std::string> model_kind_names();

// A model file for examples of `input_shape` and `classes` classes: He-normal weights, zero biases; the same arguments
// give the same bytes. mlp and logistic take any shape, the others height x width x channels. Errors: invalid_argument,
// malformed (an input too small for the net).
Result<Bytes> make_model(ModelKind kind, const Shape& input_shape, uint32_t classes, uint64_t seed);

}  // namespace coterie
