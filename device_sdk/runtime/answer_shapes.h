// The outputs of a model (proto/messages/model_outputs.h) as whoever asks it sees them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

struct ModelOutput {
  uint32_t tensor;
  std::string name;
  DataType type;
  Shape shape;  // of one example
};

// All of them, the model's own first.
std::vector<ModelOutput> model_outputs(const Model& model);

// What one example has of an output of this shape, in which -k is k times the batch: the batch comes first, alone or
// times something, which are then rows of each example. malformed: it does not, or stands in another place, too.
Result<Shape> shape_of_one_example(const Shape& output);

}  // namespace coterie
