// What the ops of a model file give, as a trace.
#pragma once

#include <vector>

#include "base/result.h"
#include "tools/compare_tensors/tensor_trace.h"

namespace coterie {

class Model;

// `inputs` as layer_outputs() takes them, whose limits and errors hold. A value that is not float32, or a view, has no
// numbers.
Result<TensorTrace> trace_of(const Model& model, const std::vector<std::vector<float>>& inputs, uint32_t batch);

}  // namespace coterie
