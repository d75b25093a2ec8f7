// ModelInterface: what a served model takes and gives, in the words of the Open Inference Protocol v2.
// https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/messages/model.h"

namespace coterie {

struct TensorInterface {
  std::string name;
  DataType type = DataType::float32;
  Shape shape;            // of one example, without the batch
  uint64_t elements = 1;  // of one example
  bool operator==(const TensorInterface&) const = default;
};

struct ModelInterface {
  std::vector<TensorInterface> inputs;  // at least one
  TensorInterface output;               // always float32
  bool operator==(const ModelInterface&) const = default;
};

// "FP32" or "INT32".
std::string_view protocol_name(DataType type);

// "[-1,8,8,1]", or with the batch instead of -1.
std::string protocol_shape(const Shape& example, int64_t batch = -1);

}  // namespace coterie
