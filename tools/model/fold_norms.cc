#include "tools/model/fold_norms.h"

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/int8/foldable_norm.h"
#include "device_sdk/runtime/rebuild_model.h"
#include "proto/messages/model_outputs.h"

namespace coterie {
namespace {

class Folding {
 public:
  explicit Folding(const Model& model)
      : graph_(model.graph()),
        index_(model.graph(), further_outputs(model.graph())),
        values_(model.parameters().begin(), model.parameters().end()) {}

  Result<Model> fold() {
    std::vector<OpInfo> kept;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (index_.is_needed[i] && layer_of_norm(graph_, index_, graph_.ops[i]) != kNoOp)
        fold_into(layer_of(kept, graph_.ops[i]), graph_.ops[i]);
      else kept.push_back(graph_.ops[i]);
    }
    graph_.ops = std::move(kept);
    return rebuild_model(std::move(graph_), values_);
  }

 private:
  static bool has_bias(const OpInfo& layer) { return layer.inputs.size() > 2 && layer.inputs[2] != kNoTensor; }

  static OpInfo& layer_of(std::vector<OpInfo>& kept, const OpInfo& norm) {
    return *std::ranges::find_if(
        kept, [&](const OpInfo& op) { return std::ranges::find(op.outputs, norm.inputs[0]) != op.outputs.end(); });
  }

  std::span<float> values(uint32_t tensor) {
    const TensorInfo& info = graph_.tensors[tensor];
    return std::span(values_).subspan(info.payload_offset / sizeof(float), elements(info.shape));
  }

  void fold_into(OpInfo& layer, const OpInfo& norm) {
    const auto scale = values(norm.inputs[1]), offset = values(norm.inputs[2]), mean = values(norm.inputs[3]),
               variance = values(norm.inputs[4]);
    const auto epsilon = static_cast<double>(std::get<NormAttributes>(norm.attributes).epsilon);
    const bool was_biased = has_bias(layer);
    const auto bias = values(was_biased ? layer.inputs[2] : norm.inputs[2]);
    std::vector<double> factors(scale.size());
    for (size_t c = 0; c < factors.size(); ++c) {
      factors[c] = static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
      const double before = was_biased ? static_cast<double>(bias[c]) : 0;
      bias[c] =
          static_cast<float>((before - static_cast<double>(mean[c])) * factors[c] + static_cast<double>(offset[c]));
    }
    const auto weights = values(layer.inputs[1]);
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<float>(static_cast<double>(weights[i]) * factors[i % factors.size()]);
    }
    if (!was_biased) {
      layer.inputs.resize(3, kNoTensor);
      layer.inputs[2] = norm.inputs[2];
    }
    layer.outputs[0] = norm.outputs[0];
  }

  ModelGraph graph_;
  GraphIndex index_;
  std::vector<float> values_;
};

}  // namespace

Result<Model> without_norms(const Model& model) { return Folding(model).fold(); }

}  // namespace coterie
