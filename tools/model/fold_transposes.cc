#include "tools/model/fold_transposes.h"

#include <algorithm>

#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/rebuild_model.h"
#include "proto/messages/model_outputs.h"

namespace coterie {
namespace {

bool moves_nothing(OpKind kind) {
  return kind == OpKind::flatten || kind == OpKind::reshape || kind == OpKind::identity || kind == OpKind::dropout;
}

// For each element of an example after the transpose, in order, where it was before.
std::vector<size_t> sources(const Shape& from, const std::vector<int64_t>& order) {
  const size_t rank = from.size();
  std::vector<size_t> strides(rank, 1);
  for (size_t d = rank - 1; d > 1; --d) strides[d - 1] = strides[d] * static_cast<size_t>(from[d]);
  std::vector<size_t> places = {0};
  for (size_t d = 1; d < rank; ++d) {
    const auto axis = static_cast<size_t>(order[d]);
    std::vector<size_t> next;
    for (const size_t place : places) {
      for (size_t i = 0; i < static_cast<size_t>(from[axis]); ++i) next.push_back(place + i * strides[axis]);
    }
    places = std::move(next);
  }
  return places;
}

class Folding {
 public:
  explicit Folding(const Model& model)
      : model_(model),
        graph_(model.graph()),
        index_(model.graph(), further_outputs(model.graph())),
        values_(model.parameters().begin(), model.parameters().end()),
        is_gone_(graph_.ops.size()) {}

  Result<Model> fold() {
    // From the last on, so that of two in a row the first one sees the layer that took over the second.
    for (size_t i = graph_.ops.size(); i-- > 0;) is_gone_[i] = fold_op(i);
    if (std::ranges::find(is_gone_, true) == is_gone_.end()) return model_;
    std::vector<OpInfo> kept;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!is_gone_[i]) kept.push_back(std::move(graph_.ops[i]));
    }
    graph_.ops = std::move(kept);
    return rebuild_model(std::move(graph_), values_);
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  // The op that alone reads what op `i` writes, itself or behind transposes that are gone.
  size_t next_of(size_t i) const {
    do {
      const uint32_t made = model_.graph().ops[i].outputs[0];
      if (!index_.has_one_reader(made) || index_.consumers[made][0] == kNoOp) return kNone;
      i = index_.consumers[made][0];
    } while (is_gone_[i]);
    return i;
  }

  bool is_batch_first(uint32_t tensor) const {
    const Shape& shape = model_.shape(tensor);
    return shape.size() >= 2 && shape[0] == -1 &&
           std::all_of(shape.begin() + 1, shape.end(), [](int64_t size) { return size > 0; });
  }

  // The dense layer whose rows the transpose is an order of.
  size_t layer_of(size_t transpose) const {
    for (size_t i = next_of(transpose); i != kNone; i = next_of(i)) {
      const OpInfo& op = graph_.ops[i];
      if (!is_batch_first(op.inputs[0])) return kNone;
      if (moves_nothing(op.kind)) continue;
      if (op.kind != OpKind::dense) return kNone;
      const uint32_t weight = op.inputs[1];
      const bool is_own = graph_.tensors[weight].role == TensorRole::parameter && index_.has_one_reader(weight);
      return is_own && model_.shape(op.inputs[0]).size() == 2 ? i : kNone;
    }
    return kNone;
  }

  bool fold_op(size_t i) {
    const OpInfo& op = graph_.ops[i];
    if (!index_.is_needed[i] || op.kind != OpKind::transpose || !is_batch_first(op.inputs[0])) return false;
    const auto& order = std::get<TransposeAttributes>(op.attributes).order;
    const size_t layer = order[0] == 0 ? layer_of(i) : kNone;
    if (layer == kNone) return false;
    move_rows(graph_.ops[layer].inputs[1], sources(model_.shape(op.inputs[0]), order));
    const size_t next = next_of(i);
    graph_.ops[next].inputs[0] = op.inputs[0];
    return true;
  }

  void move_rows(uint32_t weight, const std::vector<size_t>& source) {
    const TensorInfo& info = graph_.tensors[weight];
    const auto values = std::span(values_).subspan(info.payload_offset / sizeof(float), elements(info.shape));
    const size_t width = values.size() / source.size();
    const std::vector<float> before(values.begin(), values.end());
    for (size_t row = 0; row < source.size(); ++row) {
      const auto from = before.begin() + static_cast<ptrdiff_t>(row * width);
      std::copy_n(from, width, values.begin() + static_cast<ptrdiff_t>(source[row] * width));
    }
  }

  const Model& model_;
  ModelGraph graph_;
  GraphIndex index_;
  std::vector<float> values_;
  std::vector<bool> is_gone_;
};

}  // namespace

Result<Model> without_transposes(const Model& model) { return Folding(model).fold(); }

}  // namespace coterie
