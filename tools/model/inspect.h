// What is inside a model file, for a person or for a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device_sdk/runtime/model.h"

namespace coterie {

struct ModelLayer {
  std::string name;
  std::string op;
  std::string output;       // "8x8x16"
  uint64_t parameters = 0;  // values of the parameters it is the first to use
};

struct ModelReport {
  std::string name;
  std::string digest;
  std::string input, output;  // shapes
  uint64_t file_bytes = 0;
  uint64_t parameters = 0;  // values, without the padding between them
  double flops = 0;         // of one example's forward pass
  std::vector<ModelLayer> layers;
};

ModelReport inspect(const Model& model);

// "28x28x1"
std::string shape_text(const Shape& shape);
// The reverse: 1 to 8 numbers of at least 1 with x between them. Errors: invalid_argument.
Result<Shape> parse_shape(const std::string& text);

}  // namespace coterie
