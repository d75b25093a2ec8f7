#include "device_sdk/runtime/fusion.h"

#include <algorithm>

namespace coterie {
namespace {

using kernels::Activation;

bool is_layer(OpKind kind) {
  return kind == OpKind::dense || kind == OpKind::conv2d || kind == OpKind::conv_transpose2d;
}

class Fusions {
 public:
  Fusions(const ModelGraph& graph, const GraphIndex& index, const std::vector<bool>& is_settled, Optimisation level)
      : graph_(graph), index_(index), is_settled_(is_settled), level_(level), found_(graph.ops.size()) {}

  std::vector<OpFusion> find() {
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      if (!index_.is_needed[i]) continue;
      switch (graph_.ops[i].kind) {
        case OpKind::batch_norm:
          if (level_ >= Optimisation::rounding) fold_norm(i);
          break;
        case OpKind::relu: apply(i, Activation::relu); break;
        case OpKind::relu6: apply(i, Activation::relu6); break;
        default: break;
      }
    }
    return std::move(found_);
  }

 private:
  // The op that makes a tensor which one op alone reads; kNoOp if it is not so.
  uint32_t sole_maker(uint32_t tensor) const { return index_.has_one_reader(tensor) ? index_.producer[tensor] : kNoOp; }

  bool are_settled(const OpInfo& op) const {
    return std::all_of(op.inputs.begin() + 1, op.inputs.end(),
                       [&](uint32_t tensor) { return tensor == kNoTensor || is_settled_[tensor]; });
  }

  void fold_norm(uint32_t norm) {
    const OpInfo& op = graph_.ops[norm];
    const uint32_t maker = sole_maker(op.inputs[0]);
    if (maker == kNoOp || !is_fusable(graph_.ops[maker].kind, op.kind)) return;
    if (!are_settled(op) || !are_settled(graph_.ops[maker])) return;
    found_[maker].folded_norm = norm;
    found_[norm].is_applied_by_producer = found_[norm].is_undone_by_producer = true;
  }

  void apply(uint32_t i, Activation activation) {
    const OpInfo& op = graph_.ops[i];
    uint32_t maker = sole_maker(op.inputs[0]);
    if (maker != kNoOp && found_[maker].is_applied_by_producer && graph_.ops[maker].kind == OpKind::batch_norm) {
      maker = index_.producer[graph_.ops[maker].inputs[0]];
    }
    if (maker != kNoOp && is_fusable(graph_.ops[maker].kind, op.kind)) {
      found_[maker].activation = activation;
      found_[i].is_applied_by_producer = true;
      found_[i].is_undone_by_producer = graph_.ops[maker].kind == OpKind::batch_norm;
    }
    if (activation != Activation::relu || !index_.has_one_reader(op.outputs[0])) return;
    const uint32_t reader = index_.consumers[op.outputs[0]][0];
    if (reader != kNoOp && graph_.ops[reader].kind == OpKind::max_pool2d) {
      found_[reader].undoes_relu = true;
      found_[i].is_undone_by_consumer = true;
    }
  }

  const ModelGraph& graph_;
  const GraphIndex& index_;
  const std::vector<bool>& is_settled_;
  Optimisation level_;
  std::vector<OpFusion> found_;
};

}  // namespace

bool is_fusable(OpKind maker, OpKind behind) {
  switch (behind) {
    case OpKind::batch_norm: return is_layer(maker);
    case OpKind::relu:
    case OpKind::relu6: return is_layer(maker) || maker == OpKind::batch_norm;
    default: return false;
  }
}

std::vector<OpFusion> find_fusions(const ModelGraph& graph, const GraphIndex& index,
                                   const std::vector<bool>& is_settled, Optimisation level) {
  return Fusions(graph, index, is_settled, level).find();
}

}  // namespace coterie
