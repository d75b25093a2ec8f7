#include "device_sdk/runtime/fusion.h"

namespace coterie {

std::vector<OpFusion> find_fusions(const ModelGraph& graph, const GraphIndex& index) {
  std::vector<OpFusion> fusions(graph.ops.size());
  for (uint32_t i = 0; i < graph.ops.size(); ++i) {
    const OpInfo& op = graph.ops[i];
    if (!index.is_needed[i] || op.kind != OpKind::relu) continue;
    const uint32_t maker = index.producer[op.inputs[0]];
    if (maker != kNoOp && index.has_one_reader(op.inputs[0])) {
      const OpKind kind = graph.ops[maker].kind;
      if (kind == OpKind::dense || kind == OpKind::conv2d) {
        fusions[maker].applies_relu = true;
        fusions[i].is_applied_by_producer = true;
      }
    }
    if (!index.has_one_reader(op.outputs[0])) continue;
    const uint32_t reader = index.consumers[op.outputs[0]][0];
    if (reader != kNoOp && graph.ops[reader].kind == OpKind::max_pool2d) {
      fusions[reader].undoes_relu = true;
      fusions[i].is_undone_by_consumer = true;
    }
  }
  return fusions;
}

}  // namespace coterie
