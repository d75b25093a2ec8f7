// Arrays of the interpreter as what a model is given.
#pragma once

#include <cstring>

#include "model_import/interpret/array.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"

namespace coterie::model_import::matrix {

// Integers and booleans as the bytes of int32.
inline test::GoldenTensor tensor_of(const Array& array) {
  test::GoldenTensor tensor{array.shape, {}};
  for (const double value : array.values) tensor.values.push_back(static_cast<float>(value));
  if (array.element == Element::real) return tensor;
  for (float& value : tensor.values) {
    const auto integer = static_cast<int32_t>(value);
    std::memcpy(&value, &integer, sizeof(value));
  }
  return tensor;
}

}  // namespace coterie::model_import::matrix
