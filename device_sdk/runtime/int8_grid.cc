#include "device_sdk/runtime/int8_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "device_sdk/runtime/op_rule.h"

namespace coterie {

namespace {

// The axis of operand `i`; none: it is no weight.
std::optional<uint32_t> channel_axis(const OpInfo& op, size_t i, size_t rank) {
  switch (op.kind) {
    case OpKind::dense:
    case OpKind::conv2d: return i == 1 && rank >= 2 ? std::optional(static_cast<uint32_t>(rank - 1)) : std::nullopt;
    case OpKind::conv_transpose2d: return i == 1 ? std::optional(2u) : std::nullopt;
    case OpKind::lstm:
    case OpKind::gru:
    case OpKind::rnn: return i == 1 || i == 2 ? std::optional(1u) : std::nullopt;
    case OpKind::embedding: return i == 0 ? std::optional(0u) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

std::vector<Int8WeightAxis> int8_weights(const ModelGraph& graph) {
  std::vector<Int8WeightAxis> weights;
  for (const OpInfo& op : graph.ops) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == kNoTensor) continue;
      const TensorInfo& tensor = graph.tensors[op.inputs[i]];
      const std::optional<uint32_t> axis = channel_axis(op, i, tensor.shape.size());
      if (tensor.role != TensorRole::parameter || !axis || elements(tensor.shape) < kInt8ElementsMin) continue;
      weights.push_back({op.inputs[i], *axis});
    }
  }
  std::ranges::stable_sort(weights, {}, &Int8WeightAxis::tensor);
  const auto rest = std::ranges::unique(weights, {}, &Int8WeightAxis::tensor);
  weights.erase(rest.begin(), rest.end());
  return weights;
}

float weight_scale(double end, int levels) {
  return std::max(static_cast<float>(end / levels), std::numeric_limits<float>::min());
}

double weight_step(float value, float scale, int levels) {
  const double most = levels;
  return std::clamp(std::nearbyint(static_cast<double>(value) / static_cast<double>(scale)), -most, most);
}

TensorGrid grid_over(double low, double high, uint32_t tensor) {
  low = std::min(low, 0.0), high = std::max(high, 0.0);
  const double scale =
      std::clamp((high - low) / 255, static_cast<double>(kGridScaleMin), static_cast<double>(kGridScaleMax));
  // Nothing but zeros: any scale does.
  if (high == low) return {.tensor = tensor, .scale = 1, .zero = 0};
  const double zero = std::clamp(std::nearbyint(-128 - low / scale), -128.0, 127.0);
  return {.tensor = tensor, .scale = static_cast<float>(scale), .zero = static_cast<int8_t>(zero)};
}

}  // namespace coterie
