// What every op of a model gives for some examples: the tensors that a comparison walks along.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

class Model;

struct LayerOutput {
  uint32_t op = 0;      // of the graph
  uint32_t tensor = 0;  // its first output
  Shape shape;          // the batch included
  std::vector<float> values;
};

constexpr uint64_t kLayerOutputBytesMax = 1ull << 30;  // of all of a model's, together

// In the order of the ops, of those whose first output is float32 and is computed on these inputs (as
// computed_output(), one list of words an input). Predicts; no ops are fused, so that each output is there. Errors:
// those of compile; invalid_argument (an index that no table has); too_large (kLayerOutputBytesMax).
Result<std::vector<LayerOutput>> layer_outputs(const Model& model, const std::vector<std::vector<float>>& inputs,
                                               uint32_t batch);

}  // namespace coterie
