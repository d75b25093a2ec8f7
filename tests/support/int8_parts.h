// What makes any model one that computes in int8: its weights as integers, and grids for its values.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "device_sdk/runtime/int8/int8_layers.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/stored_model_file.h"

namespace coterie::test {

struct Int8Parts {
  std::vector<Int8Weights> weights;
  std::vector<TensorGrid> grids;
};

// Its weights are rounded to 64ths, its grids are as told. Precondition: int8_layers takes it.
inline Int8Parts int8_parts(const Model& model, float scale = .03f, int8_t zero = -11) {
  Int8Parts parts;
  const Int8Layers layers = *int8_layers(model);
  for (const Int8Layer& layer : layers.layers) {
    if (!layer.is_weighted()) continue;
    const TensorInfo& tensor = model.graph().tensors[layer.weight];
    Int8Weights weights{
        .form = {.tensor = layer.weight, .axis = static_cast<uint32_t>(tensor.shape.size() - 1), .scales = {}},
        .values = {}};
    weights.form.scales.assign(static_cast<size_t>(tensor.shape.back()), 1.0f / 64);
    for (const float value :
         model.parameters().subspan(tensor.payload_offset / sizeof(float), elements(tensor.shape))) {
      weights.values.push_back(static_cast<int8_t>(std::clamp(std::nearbyint(value * 64), -127.0f, 127.0f)));
    }
    parts.weights.push_back(std::move(weights));
  }
  std::ranges::sort(parts.weights, {}, [](const Int8Weights& each) { return each.form.tensor; });
  for (const uint32_t tensor : int8_grid_tensors(layers)) parts.grids.push_back({tensor, scale, zero});
  return parts;
}

inline Bytes int8_file(const Model& model) {
  const Int8Parts parts = int8_parts(model);
  return store_as_int8(model, parts.weights, parts.grids);
}

}  // namespace coterie::test
