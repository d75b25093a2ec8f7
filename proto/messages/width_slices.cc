// What of each tensor a width keeps: follows the channels through the graph.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/assert.h"
#include "proto/messages/model_widths.h"

namespace coterie {
namespace {

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "widths: " + what); }

std::string name_of(const OpInfo& op) { return op.name + " (" + std::string(to_string(op.kind)) + ")"; }

bool is_layer(OpKind kind) { return kind == OpKind::dense || kind == OpKind::conv2d; }

// Each channel goes through it by itself, and stays where it is.
bool passes_channels(OpKind kind) {
  switch (kind) {
    case OpKind::relu:
    case OpKind::relu6:
    case OpKind::leaky_relu:
    case OpKind::elu:
    case OpKind::selu:
    case OpKind::gelu:
    case OpKind::gelu_tanh:
    case OpKind::sigmoid:
    case OpKind::hard_sigmoid:
    case OpKind::hard_swish:
    case OpKind::swish:
    case OpKind::tanh:
    case OpKind::softplus:
    case OpKind::clip:
    case OpKind::max_pool2d:
    case OpKind::average_pool2d:
    case OpKind::global_average_pool2d:
    case OpKind::adaptive_average_pool2d:
    case OpKind::adaptive_max_pool2d:
    case OpKind::dropout:
    case OpKind::identity:
    case OpKind::flatten: return true;
    default: return false;
  }
}

KeptPlaces all_of(int64_t size) {
  const auto places = static_cast<uint64_t>(size);
  return {places, places, places};
}

// Follows the channels from the inputs on.
class Slicer {
 public:
  Slicer(const ModelGraph& graph, uint32_t width)
      : graph_(graph), width_(width), channels_(graph.tensors.size()), slices_(graph.tensors.size()) {}

  Result<std::vector<TensorSlice>> run() {
    const std::vector<bool> is_last = last_layers();
    bool has_hidden = false;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const OpInfo& op = graph_.ops[i];
      const auto begins = [](const std::vector<uint32_t>& list) { return !list.empty() && list[0] != kNoTensor; };
      if (!begins(op.inputs) || !begins(op.outputs)) return no_meaning(op);
      has_hidden = has_hidden || (is_layer(op.kind) && !is_last[i]);
      COT_TRY(is_layer(op.kind) ? add_layer(op, is_last[i]) : add_other(op));
    }
    if (!has_hidden) return bad("the model has no hidden dense or conv2d layer that a width could cut");
    std::vector<TensorSlice> all;
    for (uint32_t i = 0; i < graph_.tensors.size(); ++i) {
      const TensorInfo& tensor = graph_.tensors[i];
      if (!has_payload(tensor.role)) continue;
      TensorSlice slice{i, slices_[i]};
      if (slice.dimensions.empty()) {  // read by what cuts nothing
        for (const int64_t size : tensor.shape) slice.dimensions.push_back(all_of(size));
      }
      all.push_back(std::move(slice));
    }
    return all;
  }

 private:
  struct Channels {  // of an activation, in its last dimension
    uint64_t count = 0, kept = 0;
    friend bool operator==(const Channels&, const Channels&) = default;
  };

  static Error no_meaning(const OpInfo& op) {
    return bad(name_of(op) +
               " has no meaning for a part of the channels; what a width cuts goes through dense, conv2d "
               "without groups, activations, pooling, flatten, sums of equal channels and frozen batch "
               "norms alone");
  }

  // Layers that the output is made of without another one in between.
  std::vector<bool> last_layers() const {
    std::vector<bool> is_last(graph_.ops.size()), reaches(graph_.tensors.size());
    reaches[graph_.output] = true;
    for (size_t i = graph_.ops.size(); i-- > 0;) {
      const OpInfo& op = graph_.ops[i];
      const bool is_read = std::ranges::any_of(op.outputs, [&](uint32_t t) { return t != kNoTensor && reaches[t]; });
      if (!is_read) continue;
      is_last[i] = is_layer(op.kind);
      if (is_last[i]) continue;
      for (const uint32_t tensor : op.inputs) {
        if (tensor != kNoTensor) reaches[tensor] = true;
      }
    }
    return is_last;
  }

  bool is_stored(uint32_t tensor) const { return tensor != kNoTensor && has_payload(graph_.tensors[tensor].role); }

  // What several ops read has one slice.
  Status put(const OpInfo& op, uint32_t tensor, std::vector<KeptPlaces> dimensions) {
    std::vector<KeptPlaces>& slice = slices_[tensor];
    if (!slice.empty() && slice != dimensions) {
      return bad(name_of(op) + " reads " + graph_.tensors[tensor].name + " as another op does, with other channels");
    }
    slice = std::move(dimensions);
    return {};
  }

  Status add_layer(const OpInfo& op, bool is_last) {
    const bool has_weight = op.inputs.size() > 1 && is_stored(op.inputs[1]);
    const auto* conv = std::get_if<Conv2dAttributes>(&op.attributes);
    if (!has_weight || (conv != nullptr && conv->groups != 1)) return no_meaning(op);
    const Shape& shape = graph_.tensors[op.inputs[1]].shape;  // [.., in, out]
    if (shape.size() < 2 || std::ranges::any_of(shape, [](int64_t size) { return size < 1; })) return no_meaning(op);
    std::vector<KeptPlaces> dimensions;
    for (const int64_t size : shape) dimensions.push_back(all_of(size));
    if (const std::optional<Channels>& in = channels_[op.inputs[0]]) {
      KeptPlaces& rows = dimensions[shape.size() - 2];
      if (rows.size % in->count != 0) return no_meaning(op);
      rows = {rows.size, in->count, in->kept};
    }
    KeptPlaces& columns = dimensions.back();
    if (!is_last) columns.kept = kept_channels(columns.size, width_);
    const KeptPlaces out = columns;
    COT_TRY(put(op, op.inputs[1], std::move(dimensions)));
    if (op.inputs.size() > 2 && op.inputs[2] != kNoTensor) {
      if (!is_stored(op.inputs[2])) return no_meaning(op);
      COT_TRY(put(op, op.inputs[2], {out}));
    }
    if (!is_last) channels_[op.outputs[0]] = {out.size, out.kept};
    return {};
  }

  Status add_other(const OpInfo& op) {
    const auto is_cut = [&](uint32_t tensor) { return tensor != kNoTensor && channels_[tensor].has_value(); };
    const bool is_frozen_norm = op.kind == OpKind::batch_norm && std::get_if<NormAttributes>(&op.attributes) &&
                                std::get<NormAttributes>(op.attributes).is_frozen;
    if (is_frozen_norm) return add_frozen_norm(op);
    if (std::ranges::any_of(op.inputs, [&](uint32_t tensor) { return is_stored(tensor); })) return no_meaning(op);
    if (std::ranges::none_of(op.inputs, is_cut)) return {};
    const std::optional<Channels>& first = channels_[op.inputs[0]];
    const bool is_sum = op.kind == OpKind::add && op.inputs.size() == 2;
    if (is_sum && (!is_cut(op.inputs[1]) || !first || *channels_[op.inputs[1]] != *first)) {
      return bad(name_of(op) + " adds channels that a width cuts to others that it cuts differently, or not at all");
    }
    if (!is_sum && !passes_channels(op.kind)) return no_meaning(op);
    channels_[op.outputs[0]] = first;
    return {};
  }

  Status add_frozen_norm(const OpInfo& op) {
    const std::optional<Channels>& in = channels_[op.inputs[0]];
    for (size_t i = 1; i < op.inputs.size(); ++i) {
      if (!is_stored(op.inputs[i])) continue;
      const Shape& shape = graph_.tensors[op.inputs[i]].shape;
      if (shape.size() != 1) return no_meaning(op);
      KeptPlaces places = all_of(shape[0]);
      if (in && in->count != places.size) return no_meaning(op);
      if (in) places.kept = in->kept;
      COT_TRY(put(op, op.inputs[i], {places}));
    }
    channels_[op.outputs[0]] = in;
    return {};
  }

  const ModelGraph& graph_;
  uint32_t width_;
  std::vector<std::optional<Channels>> channels_;  // by tensor; none: whole
  std::vector<std::vector<KeptPlaces>> slices_;    // likewise
};

}  // namespace

uint64_t kept_channels(uint64_t channels, uint32_t width) {
  COT_ASSERT(width >= 1 && width <= kWholeWidth);
  return (channels * width + kWholeWidth - 1) / kWholeWidth;
}

Result<std::vector<TensorSlice>> width_slices(const ModelGraph& graph, uint32_t width) {
  return Slicer(graph, width).run();
}

}  // namespace coterie
