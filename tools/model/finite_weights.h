// Whether a model's weights are numbers: a training that has diverged leaves others behind, and no grid has a step for
// them.
#pragma once

#include "base/result.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

// invalid_argument names the first tensor that has a NaN or an infinity, and the element.
Status check_finite_weights(const Model& model);

}  // namespace coterie
