// The weights of a conv2d or dense layer, with the norm behind it folded in.
#pragma once

#include <span>
#include <vector>

#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie {

struct LayerWeights {
  std::vector<float> weight;  // as in the model: the output's channels are the last dimension
  std::vector<float> bias;    // one a channel; zeros where there is none
};

// `norm`: the batch_norm that alone reads the layer's output; or null. With it the weight
// of channel c is times g = scale / sqrt(variance + epsilon), and the bias (bias - mean) g + the norm's bias.
LayerWeights layer_weights(const DelegateGraph& model, const OpInfo& layer, const OpInfo* norm);

}  // namespace coterie
