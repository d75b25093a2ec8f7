#include "device_sdk/delegates/onednn/layer_weights.h"

#include <cmath>

namespace coterie {

LayerWeights layer_weights(const DelegateGraph& model, const OpInfo& layer, const OpInfo* norm) {
  const std::span<const float> weight = model.stored(layer.inputs[1]);
  const auto channels = static_cast<size_t>(model.shape(layer.inputs[1]).back());
  LayerWeights made{{weight.begin(), weight.end()}, std::vector<float>(channels)};
  if (layer.inputs.size() > 2 && layer.inputs[2] != kNoTensor) {
    const std::span<const float> bias = model.stored(layer.inputs[2]);
    made.bias.assign(bias.begin(), bias.end());
  }
  if (norm == nullptr) return made;
  const auto of_norm = [&](size_t i) { return model.stored(norm->inputs[i]); };
  const std::span<const float> scale = of_norm(1), shift = of_norm(2), mean = of_norm(3), variance = of_norm(4);
  const float epsilon = std::get<NormAttributes>(norm->attributes).epsilon;
  for (size_t c = 0; c < channels; ++c) {
    const float gain = scale[c] / std::sqrt(variance[c] + epsilon);
    made.bias[c] = (made.bias[c] - mean[c]) * gain + shift[c];
    for (size_t i = c; i < made.weight.size(); i += channels) made.weight[i] *= gain;
  }
  return made;
}

}  // namespace coterie
