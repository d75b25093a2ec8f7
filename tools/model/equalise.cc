#include "tools/model/equalise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "device_sdk/runtime/op_rule.h"
#include "proto/messages/model_outputs.h"

namespace coterie {
namespace {

constexpr double kScaleMax = 1e4;  // of one channel, either way: what is almost never used is not blown up

// A layer whose last dimension counts its outputs: weight [..., in, out].
bool is_layer(const OpInfo& op) { return op.kind == OpKind::dense || op.kind == OpKind::conv2d; }

// f(s x) = s f(x) for s > 0, channel by channel.
bool is_homogeneous(OpKind kind) {
  switch (kind) {
    case OpKind::relu:
    case OpKind::leaky_relu:
    case OpKind::max_pool2d:
    case OpKind::average_pool2d:
    case OpKind::global_average_pool2d:
    case OpKind::adaptive_average_pool2d:
    case OpKind::adaptive_max_pool2d:
    case OpKind::flatten:
    case OpKind::dropout:
    case OpKind::identity: return true;
    default: return false;
  }
}

class Equaliser {
 public:
  explicit Equaliser(const Model& model)
      : graph_(model.graph()), values_(model.parameters().begin(), model.parameters().end()) {
    for (const OpInfo& op : graph_.ops) {
      for (const uint32_t input : op.inputs) {
        if (input == kNoTensor) continue;
        ++uses_[input];
        readers_[input] = &op;
      }
    }
    ++uses_[graph_.output];
    for (const uint32_t output : further_outputs(graph_)) ++uses_[output];  // whose values are to stay, too
  }

  std::vector<float> run() {
    for (const OpInfo& op : graph_.ops) {
      if (const OpInfo* const next = is_layer(op) ? next_layer(op) : nullptr) equalise(op, *next);
    }
    return std::move(values_);
  }

 private:
  // The layer that alone reads what `op` writes, and has a row for each of its channels.
  const OpInfo* next_layer(const OpInfo& op) const {
    for (uint32_t tensor = op.outputs[0]; uses_.at(tensor) == 1 && readers_.contains(tensor);) {
      const OpInfo& reader = *readers_.at(tensor);
      if (reader.inputs[0] != tensor) return nullptr;
      if (is_layer(reader)) return fits(op, reader) ? &reader : nullptr;
      if (!is_homogeneous(reader.kind) || reader.outputs[0] == kNoTensor) return nullptr;
      tensor = reader.outputs[0];
    }
    return nullptr;
  }

  bool is_own_parameter(uint32_t tensor) const {
    return graph_.tensors[tensor].role == TensorRole::parameter && uses_.at(tensor) == 1;
  }

  bool fits(const OpInfo& first, const OpInfo& second) const {
    if (!is_own_parameter(first.inputs[1]) || !is_own_parameter(second.inputs[1])) return false;
    if (first.inputs.size() > 2 && first.inputs[2] != kNoTensor && !is_own_parameter(first.inputs[2])) return false;
    const Shape &w1 = shape(first), &w2 = shape(second);
    const auto rows = w2[w2.size() - 2], channels = w1.back();
    // A grouped convolution has fewer inputs than the layer before it has outputs.
    if (second.kind == OpKind::conv2d) return rows == channels;
    return rows % channels == 0;  // a flattened image has its channels last: row r is of channel r % channels
  }

  const Shape& shape(const OpInfo& op) const { return graph_.tensors[op.inputs[1]].shape; }
  std::span<float> values(uint32_t tensor) {
    const TensorInfo& info = graph_.tensors[tensor];
    return std::span(values_).subspan(info.payload_offset / sizeof(float), elements(info.shape));
  }

  void equalise(const OpInfo& first, const OpInfo& second) {
    const std::span<float> w1 = values(first.inputs[1]), w2 = values(second.inputs[1]);
    const auto channels = static_cast<size_t>(shape(first).back());
    const auto columns = static_cast<size_t>(shape(second).back());
    const auto channel_of_row = [&](size_t element) { return element / columns % channels; };
    std::vector<double> r1(channels), r2(channels), scale(channels, 1);
    for (size_t i = 0; i < w1.size(); ++i)
      r1[i % channels] = std::max(r1[i % channels], std::fabs(static_cast<double>(w1[i])));
    for (size_t i = 0; i < w2.size(); ++i) {
      double& largest = r2[channel_of_row(i)];
      largest = std::max(largest, std::fabs(static_cast<double>(w2[i])));
    }
    for (size_t c = 0; c < channels; ++c) {
      if (r1[c] > 0 && r2[c] > 0) scale[c] = std::clamp(std::sqrt(r1[c] / r2[c]), 1 / kScaleMax, kScaleMax);
    }
    for (size_t i = 0; i < w1.size(); ++i) w1[i] = static_cast<float>(static_cast<double>(w1[i]) / scale[i % channels]);
    for (size_t i = 0; i < w2.size(); ++i)
      w2[i] = static_cast<float>(static_cast<double>(w2[i]) * scale[channel_of_row(i)]);
    if (first.inputs.size() > 2 && first.inputs[2] != kNoTensor) {
      const std::span<float> bias = values(first.inputs[2]);
      for (size_t c = 0; c < channels; ++c) bias[c] = static_cast<float>(static_cast<double>(bias[c]) / scale[c]);
    }
  }

  const ModelGraph& graph_;
  std::vector<float> values_;
  std::map<uint32_t, size_t> uses_;
  std::map<uint32_t, const OpInfo*> readers_;
};

}  // namespace

std::vector<float> equalised(const Model& model) { return Equaliser(model).run(); }

}  // namespace coterie
