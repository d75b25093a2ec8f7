#include "model_import/quantised/import_int8.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "device_sdk/runtime/int8/int8_model.h"
#include "model_import/quantised/qdq.h"

namespace coterie::model_import {
namespace {

Error refusal(const std::string& why) { return Error(ErrorCode::invalid_argument, why); }

class Joining {
 public:
  Joining(const Model& model, Int8Layers layers, const QdqGraph& qdq, const std::map<std::string, std::string>& tensors)
      : model_(model), layers_(std::move(layers)), qdq_(qdq) {
    for (const auto& [value, tensor] : tensors) value_names_[tensor] = value;
  }

  Result<Bytes> file() {
    COT_TRY(find_grids());
    for (const Int8Layer& layer : layers_.layers) {
      if (layer.is_weighted()) COT_TRY(find_weights(layer));
    }
    std::ranges::sort(weights_, {}, [](const Int8Weights& each) { return each.form.tensor; });
    COT_ASSIGN(const Int8Program program, make_int8_program(model_, weights_, grids_));
    for (size_t i = 0; i < layers_.layers.size(); ++i) COT_TRY(check_bias(layers_.layers[i], program.steps[i]));
    return store_as_int8(model_, weights_, grids_);
  }

 private:
  const std::string& name(uint32_t tensor) const { return model_.graph().tensors[tensor].name; }

  const QdqGrid* grid_at(uint32_t tensor) const {
    const auto value = value_names_.find(name(tensor));
    return value == value_names_.end() ? nullptr : &qdq_.grids.at(value->second);
  }

  // The tensor whose elements this one has: what moves none, and what keeps a grid, lead there.
  std::vector<uint32_t> sources() const {
    std::vector<uint32_t> source(model_.graph().tensors.size());
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint32_t>(i);
    for (const OpInfo& op : model_.graph().ops) {
      if (op.kind == OpKind::flatten || op.kind == OpKind::reshape || op.kind == OpKind::identity ||
          op.kind == OpKind::dropout) {
        source[op.outputs[0]] = source[op.inputs[0]];
      }
      const auto layer = std::ranges::find(layers_.layers, op.outputs[0], &Int8Layer::output);
      if (layer != layers_.layers.end() && layer->keeps_grid()) source[op.outputs[0]] = source[op.inputs[0]];
    }
    return source;
  }

  Status find_grids() {
    const std::vector<uint32_t> needed = int8_grid_tensors(layers_), source = sources();
    std::map<uint32_t, QdqGrid> grids;
    // In the graph's order a source comes before what has its elements.
    for (uint32_t tensor = 0; tensor < source.size(); ++tensor) {
      const QdqGrid* const grid = grid_at(tensor);
      if (grid == nullptr) continue;
      const uint32_t from = source[tensor];
      if (!std::ranges::binary_search(needed, from)) {
        return refusal("the value " + name(tensor) + " has a grid of its own, but is part of the layer behind it");
      }
      const auto [held, is_new] = grids.emplace(from, *grid);
      if (!is_new && held->second != *grid) {
        return refusal("the value " + name(tensor) + " has another grid than " + name(from) + ", whose values it has");
      }
    }
    for (const uint32_t tensor : needed) {
      const auto grid = grids.find(tensor);
      if (grid == grids.end()) {
        return refusal("the value " + name(tensor) +
                       " passes no QuantizeLinear: a network in int8 has a grid for each");
      }
      grids_.push_back({.tensor = tensor, .scale = grid->second.scale, .zero = grid->second.zero});
    }
    return {};
  }

  Status find_weights(const Int8Layer& layer) {
    const TensorInfo& tensor = model_.graph().tensors[layer.weight];
    const QdqTable* const table = table_of(layer.weight);
    if (table == nullptr) return refusal("the weights of op " + layer.name + " pass no DequantizeLinear");
    const auto outputs = static_cast<size_t>(tensor.shape.back());
    if (table->scales.size() != 1 && table->scales.size() != outputs) {
      return refusal("the weights of op " + layer.name + " have scales that are not by output");
    }
    Int8Weights weights{
        .form = {.tensor = layer.weight, .axis = static_cast<uint32_t>(tensor.shape.size() - 1), .scales = {}},
        .values = {}};
    for (size_t o = 0; o < outputs; ++o) {
      weights.form.scales.push_back(table->scales.size() == 1 ? table->scales[0] : table->scales[o]);
    }
    const std::span<const float> real =
        model_.parameters().subspan(tensor.payload_offset / sizeof(float), elements(tensor.shape));
    for (size_t i = 0; i < real.size(); ++i) {
      const float scale = weights.form.scales[i % outputs];
      const float steps = std::nearbyint(real[i] / scale);
      if (!(std::fabs(steps) <= 127) || scale * steps != real[i]) {
        return refusal("the weights of op " + layer.name + " have scales that are not by output");
      }
      weights.values.push_back(static_cast<int8_t>(steps));
    }
    weights_.push_back(std::move(weights));
    return {};
  }

  Status check_bias(const Int8Layer& layer, const Int8Step& step) const {
    if (!layer.is_weighted() || layer.bias == kNoTensor) return {};
    const QdqTable* const table = table_of(layer.bias);
    if (table == nullptr || table->values == step.bias) return {};  // a float bias is rounded as ours are
    return refusal("the bias of op " + layer.name +
                   " lies on another grid than that of its input times its weights; leave it in float32");
  }

  // Parameters have the names of the graph's tables.
  const QdqTable* table_of(uint32_t tensor) const {
    const auto found = std::ranges::find_if(qdq_.tables, [&](const auto& each) { return each.first == name(tensor); });
    return found == qdq_.tables.end() ? nullptr : &found->second;
  }

  const Model& model_;
  const Int8Layers layers_;
  const QdqGraph& qdq_;
  std::map<std::string, std::string> value_names_;  // by tensor: the value of the graph that has a grid
  std::vector<TensorGrid> grids_;
  std::vector<Int8Weights> weights_;
};

}  // namespace

Result<ImportedModel> import_int8_graph(Graph graph, const ImportOptions& options) {
  COT_ASSIGN(const QdqGraph qdq, take_qdq(std::move(graph)));
  ImportOptions located = options;
  for (const auto& [value, grid] : qdq.grids) located.located.insert(value);
  COT_ASSIGN(ImportedModel imported, import_graph(qdq.graph, located));
  COT_ASSIGN(const Model model, Model::load(imported.model));
  COT_ASSIGN(Int8Layers layers, int8_layers(model));
  COT_ASSIGN(imported.model, Joining(model, std::move(layers), qdq, imported.tensors).file());
  return imported;
}

}  // namespace coterie::model_import
