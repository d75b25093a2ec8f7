// Cross-layer equalisation (Nagel et al. 2019): the same function with weights that lose less when they are rounded.
//
// Where a layer's outputs go through nothing but ReLU, pooling and flattening into one other layer, an output channel
// may be divided by any s > 0 if what reads it is multiplied by s. With s = sqrt(r1 / r2), r1 and r2 the largest
// weights that make and that read the channel, both become equal: no input of the second layer drowns the others in its
// range.
#pragma once

#include <vector>

#include "device_sdk/runtime/model.h"

namespace coterie {

// The parameters of the model, flat, with all such pairs of layers equalised once, in the order of the graph. As they
// are where there is no pair.
std::vector<float> equalised(const Model& model);

}  // namespace coterie
