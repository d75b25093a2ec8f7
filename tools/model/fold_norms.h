// A model without the batch norms that a layer in front of them can take over: what computes in int8 has none.
#pragma once

#include "device_sdk/runtime/model.h"

namespace coterie {

// With running mean m and variance v, scale s and offset b, a batch norm behind a dense layer or a convolution is that
// layer with weights w * f and bias (bias - m) * f + b, f = s / sqrt(v + epsilon) (Jacob et al. 2018, section 3.2). So
// are all of them whose input nobody else reads, if nobody else reads the layer's parameters; the others stay. The
// same function but for rounding. Errors: those of Model::load.
Result<Model> without_norms(const Model& model);

}  // namespace coterie
