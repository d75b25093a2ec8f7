#include "model_import/export/grids.h"

#include <algorithm>

#include "device_sdk/runtime/int8/int8_layers.h"

namespace coterie::model_import {

Result<ExportGrids> export_grids(const Int8Model& model) {
  COT_ASSIGN(const Int8Layers layers, int8_layers(model.exact));
  const Int8Program& program = model.program;
  ExportGrids grids;
  grids.values[layers.input] = program.values[0].grid;
  for (size_t i = 0; i < layers.layers.size(); ++i) {
    const Int8Layer& layer = layers.layers[i];
    const Int8Step& step = program.steps[i];
    grids.values[layer.output] = program.values[step.output].grid;
    if (!layer.is_weighted()) continue;
    const auto weights =
        std::ranges::find(model.weights, layer.weight, [](const Int8Weights& each) { return each.form.tensor; });
    grids.stored[layer.weight] = {.axis = weights->form.axis,
                                  .scales = weights->form.scales,
                                  .values = {weights->values.begin(), weights->values.end()}};
    if (layer.bias == kNoTensor) continue;
    ExportIntegers bias{.axis = 0, .scales = {}, .values = step.bias, .is_bias = true};
    for (const float scale : weights->form.scales) {
      bias.scales.push_back(program.values[step.inputs[0]].grid.scale * scale);
    }
    const auto [held, is_new] = grids.stored.emplace(layer.bias, bias);
    if (!is_new && held->second != bias) {
      return Error(ErrorCode::invalid_argument,
                   "op " + layer.name + " shares its bias with another op, on another grid: give each its own");
    }
  }
  return grids;
}

}  // namespace coterie::model_import
