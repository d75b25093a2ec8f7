// What a graph is computed for.
#pragma once

#include <cstdint>

namespace coterie::model_import {

enum class Intent : uint8_t {
  // What a model predicts, to hold a conversion against: Dropout does nothing, BatchNormalization uses its running
  // statistics, and a Cast between floats changes nothing.
  prediction,
  // The same as its numbers are stored: each result is rounded as below, but for bfloat16, which is not rounded.
  stored_prediction,
  // What the graph says: nodes that train do so, each result is rounded to float32, or to float16 where a node's
  // operands are known to be of that width, and a Cast to half rounds. What is random is refused.
  specification,
};

}  // namespace coterie::model_import
