#include "proto/messages/model_clusters.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "proto/messages/plan.h"

namespace coterie {
namespace {

constexpr const char* kProperty = "clusters";
constexpr uint64_t kAlignment = 64;    // of a parameter, in bytes (proto/codec/limits.h)
constexpr size_t kNameBytesMax = 256;  // of a tensor or an op, likewise

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "clusters: " + what); }

bool is_shared(const TensorInfo& tensor) {
  return tensor.role == TensorRole::input || tensor.role == TensorRole::constant;
}

Result<std::string> name_in_copy(const std::string& name, uint32_t copy) {
  std::string own = "cluster" + std::to_string(copy + 1) + "/" + name;
  if (own.size() > kNameBytesMax) return bad("the name " + name + " is too long to be that of a copy, too");
  return own;
}

size_t tensors_of_model(const ModelGraph& stacked) {
  const auto shared = static_cast<size_t>(std::ranges::count_if(stacked.tensors, is_shared));
  return shared + (stacked.tensors.size() - shared) / cluster_count(stacked);
}

Status add_copy(const ModelGraph& model, uint32_t copy, uint64_t payload_bytes, ModelGraph& stacked) {
  std::vector<uint32_t> index(model.tensors.size());
  for (uint32_t i = 0; i < model.tensors.size(); ++i) {
    index[i] = i;
    if (is_shared(model.tensors[i])) continue;
    index[i] = static_cast<uint32_t>(stacked.tensors.size());
    TensorInfo tensor = model.tensors[i];
    COT_ASSIGN(tensor.name, name_in_copy(tensor.name, copy));
    if (has_payload(tensor.role)) tensor.payload_offset += copy * payload_bytes;
    stacked.tensors.push_back(std::move(tensor));
  }
  for (OpInfo op : model.ops) {
    COT_ASSIGN(op.name, name_in_copy(op.name, copy));
    for (auto* list : {&op.inputs, &op.outputs}) {
      for (uint32_t& tensor : *list) tensor = tensor == kNoTensor ? kNoTensor : index[tensor];
    }
    stacked.ops.push_back(std::move(op));
  }
  return {};
}

}  // namespace

uint32_t cluster_count(const ModelGraph& graph) {
  const auto found = graph.properties.find(kProperty);
  if (found == graph.properties.end()) return 1;
  const std::string& text = found->second;
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && count >= kClustersMin && count <= kClustersMax ? count : 1;
}

uint32_t cluster_count(const TrainingSettings& training) {
  return training.personal && training.personal->kind == PersonalKind::clusters ? training.personal->count : 1;
}

uint64_t cluster_payload_bytes(uint64_t payload_bytes) {
  return (payload_bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Result<ModelGraph> stack_graph(const ModelGraph& model, uint32_t count, uint64_t payload_bytes) {
  if (count < kClustersMin || count > kClustersMax) {
    return bad("there must be " + std::to_string(kClustersMin) + " to " + std::to_string(kClustersMax) +
               " models, not " + std::to_string(count));
  }
  if (model.properties.contains(kProperty)) return bad("the model holds several itself");
  ModelGraph stacked = model;
  stacked.properties[kProperty] = std::to_string(count);
  for (uint32_t copy = 1; copy < count; ++copy) {
    COT_TRY(add_copy(model, copy, cluster_payload_bytes(payload_bytes), stacked));
  }
  return stacked;
}

// By how far the first parameter's copy lies behind it.
uint64_t copy_bytes(const ModelGraph& stacked) {
  const size_t tensors = tensors_of_model(stacked);
  size_t own = 0;  // tensors of the model that are copied, so far
  for (size_t i = 0; i < tensors && tensors + own < stacked.tensors.size(); ++i) {
    const TensorInfo& tensor = stacked.tensors[i];
    if (is_shared(tensor)) continue;
    const TensorInfo& copy = stacked.tensors[tensors + own++];
    if (!has_payload(tensor.role)) continue;
    const bool is_behind = has_payload(copy.role) && copy.payload_offset > tensor.payload_offset;
    return is_behind ? copy.payload_offset - tensor.payload_offset : 0;
  }
  return 0;
}

// Whatever the graph says of itself, it is compared with what it has to be.
Result<ModelGraph> graph_of_cluster(const ModelGraph& stacked) {
  const uint32_t count = cluster_count(stacked);
  if (count == 1) return stacked;
  const Error other(ErrorCode::malformed, "clusters: the file says that it holds " + std::to_string(count) +
                                              " models, and they are not of one form; `coterie model clusters` makes "
                                              "such files");
  ModelGraph model = stacked;
  model.properties.erase(kProperty);
  model.tensors.resize(tensors_of_model(stacked));
  model.ops.resize(stacked.ops.size() / count);
  const auto exists = [&](uint32_t tensor) { return tensor == kNoTensor || tensor < model.tensors.size(); };
  bool is_whole = exists(model.output) && std::ranges::all_of(model.inputs, exists);
  for (const OpInfo& op : model.ops) {
    is_whole = is_whole && std::ranges::all_of(op.inputs, exists) && std::ranges::all_of(op.outputs, exists);
  }
  if (!is_whole || copy_bytes(stacked) == 0) return other;
  const Result<ModelGraph> again = stack_graph(model, count, copy_bytes(stacked));
  if (!again || *again != stacked) return other;
  return model;
}

}  // namespace coterie
