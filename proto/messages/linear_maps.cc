#include "proto/messages/linear_maps.h"

#include <algorithm>
#include <set>

#include "proto/messages/model.h"

namespace coterie {

std::vector<LinearMap> linear_maps(const ModelGraph& graph) {
  std::set<uint32_t> tables;
  for (const OpInfo& op : graph.ops) {
    if (op.kind == OpKind::embedding) tables.insert(op.inputs.begin(), op.inputs.end());
  }
  std::vector<LinearMap> maps;
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorInfo& tensor = graph.tensors[i];
    if (tensor.role != TensorRole::parameter || tensor.shape.size() < 2 || tables.contains(i)) continue;
    const Result<uint64_t> count = element_count(tensor.shape);
    const auto columns = static_cast<uint64_t>(tensor.shape.back());
    if (!count || columns < 2 || *count / columns < 2) continue;
    maps.push_back({{tensor.payload_offset / sizeof(float), *count}, *count / columns, columns});
  }
  std::ranges::sort(maps, {}, [](const LinearMap& map) { return map.values.first; });
  return maps;
}

}  // namespace coterie
