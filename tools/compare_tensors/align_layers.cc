#include "tools/compare_tensors/align_layers.h"

#include <algorithm>

namespace coterie {
namespace {

uint32_t likeness(const OpInfo& a, const OpInfo& b) {
  if (a.kind != b.kind) return 0;
  return a.name == b.name ? 3 : 2;
}

std::vector<LayerPair> best_pairs(const std::vector<OpInfo>& a, const std::vector<OpInfo>& b) {
  const size_t width = b.size() + 1;
  std::vector<uint32_t> score((a.size() + 1) * width);  // of the rests behind a cell
  const auto at = [&](size_t i, size_t j) -> uint32_t& { return score[i * width + j]; };
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      const uint32_t like = likeness(a[i], b[j]);
      at(i, j) = std::max({at(i + 1, j), at(i, j + 1), like == 0 ? 0 : like + at(i + 1, j + 1)});
    }
  }
  std::vector<LayerPair> pairs;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint32_t like = likeness(a[i], b[j]);
    if (like > 0 && at(i, j) == like + at(i + 1, j + 1)) {
      pairs.push_back({static_cast<uint32_t>(i++), static_cast<uint32_t>(j++)});
    } else if (at(i, j) == at(i + 1, j)) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

bool is_layer(OpKind kind) {
  return kind == OpKind::dense || kind == OpKind::conv2d || kind == OpKind::conv_transpose2d;
}

// The batch norm behind a layer that no op of the other graph stands for.
const OpInfo* lone_norm_behind(const ModelGraph& graph, uint32_t layer, const std::vector<bool>& is_paired) {
  for (size_t i = layer + 1; i < graph.ops.size(); ++i) {
    const OpInfo& op = graph.ops[i];
    if (op.kind != OpKind::batch_norm || is_paired[i] || op.inputs.empty()) continue;
    if (op.inputs[0] == graph.ops[layer].outputs[0]) return &op;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<LayerPair>> align_layers(const ModelGraph& a, const ModelGraph& b) {
  if (!b.ops.empty() && a.ops.size() > kAlignedCellsMax / b.ops.size()) {
    return Error(ErrorCode::too_large, "the graphs have too many ops to be compared: " + std::to_string(a.ops.size()) +
                                           " and " + std::to_string(b.ops.size()));
  }
  std::vector<LayerPair> pairs = best_pairs(a.ops, b.ops);
  std::vector<bool> paired_a(a.ops.size()), paired_b(b.ops.size());
  for (const LayerPair& pair : pairs) paired_a[pair.a] = paired_b[pair.b] = true;
  for (LayerPair& pair : pairs) {
    if (!is_layer(a.ops[pair.a].kind)) continue;
    const OpInfo* const norm_a = lone_norm_behind(a, pair.a, paired_a);
    const OpInfo* const norm_b = lone_norm_behind(b, pair.b, paired_b);
    if ((norm_a == nullptr) == (norm_b == nullptr)) continue;
    pair.is_folded_norm = true;
    if (norm_a != nullptr) pair.a = static_cast<uint32_t>(norm_a - a.ops.data());
    else pair.b = static_cast<uint32_t>(norm_b - b.ops.data());
  }
  return pairs;
}

}  // namespace coterie
