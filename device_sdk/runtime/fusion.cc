#include "device_sdk/runtime/fusion.h"

namespace coterie {

std::vector<OpFusion> find_fusions(const ModelGraph& graph, const GraphIndex& index) {
  std::vector<OpFusion> fusions(graph.ops.size());
  for (uint32_t i = 0; i < graph.ops.size(); ++i) {
    const OpInfo& op = graph.ops[i];
    if (!index.is_needed[i] || (op.kind != OpKind::relu && op.kind != OpKind::relu6)) continue;
    const uint32_t maker = index.producer[op.inputs[0]];
    if (maker != kNoOp && index.has_one_reader(op.inputs[0])) {
      const OpKind kind = graph.ops[maker].kind;
      const bool is_norm = kind == OpKind::batch_norm;
      if (is_norm || (op.kind == OpKind::relu && (kind == OpKind::dense || kind == OpKind::conv2d))) {
        (op.kind == OpKind::relu ? fusions[maker].applies_relu : fusions[maker].applies_relu6) = true;
        fusions[i].is_applied_by_producer = true;
        fusions[i].is_undone_by_producer = is_norm;
      }
    }
    if (op.kind != OpKind::relu || !index.has_one_reader(op.outputs[0])) continue;
    const uint32_t reader = index.consumers[op.outputs[0]][0];
    if (reader != kNoOp && graph.ops[reader].kind == OpKind::max_pool2d) {
      fusions[reader].undoes_relu = true;
      fusions[i].is_undone_by_consumer = true;
    }
  }
  return fusions;
}

}  // namespace coterie
