#include "tools/model/finite_weights.h"

#include <cmath>
#include <string>

#include "proto/messages/model.h"

namespace coterie {

Status check_finite_weights(const Model& model) {
  for (const TensorInfo& tensor : model.graph().tensors) {
    if (!has_payload(tensor.role)) continue;
    const uint64_t first = tensor.payload_offset / sizeof(float), count = *element_count(tensor.shape);
    const std::span<const float> values = model.parameters().subspan(first, count);
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) continue;
      return Error(ErrorCode::invalid_argument, "the weight " + tensor.name + " has " + std::to_string(values[i]) +
                                                    " as element " + std::to_string(i) +
                                                    ", expected finite numbers; `coterie model why-nan` finds where "
                                                    "such a training went wrong");
    }
  }
  return {};
}

}  // namespace coterie
