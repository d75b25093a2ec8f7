#include "tools/optimise/pass_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device_sdk/runtime/rebuild_model.h"
#include "device_sdk/runtime/shape_inference.h"
#include "proto/codec/limits.h"
#include "proto/messages/model_outputs.h"

namespace coterie {
namespace {

constexpr size_t kConstantElementsMax = 4096;                 // of those that passes make
constexpr size_t kNameBytesMax = limits::kTextBytesMax - 16;  // leaves room for a number that makes it unique

}  // namespace

PassGraph::PassGraph(const Model& model, ModelUse use)
    : use_(use),
      graph_(model.graph()),
      further_outputs_(further_outputs(graph_)),
      index_(graph_, further_outputs_),
      payload_(model.parameters().begin(), model.parameters().end()) {}

Result<PassGraph> PassGraph::of(const Model& model, ModelUse use) {
  PassGraph graph(model, use);
  COT_TRY(graph.refresh());
  return graph;
}

bool PassGraph::is_output(uint32_t tensor) const {
  return graph_.output == tensor || std::ranges::find(further_outputs_, tensor) != further_outputs_.end();
}

Result<Model> PassGraph::model() const { return rebuild_model(graph_, payload_); }

uint32_t PassGraph::maker(uint32_t tensor, OpKind kind) const {
  const uint32_t op = tensor == kNoTensor ? kNoOp : index_.producer[tensor];
  return op != kNoOp && graph_.ops[op].kind == kind ? op : kNoOp;
}

uint32_t PassGraph::sole_maker(uint32_t tensor, OpKind kind) const {
  return tensor != kNoTensor && sole_reader(tensor) != kNoOp ? maker(tensor, kind) : kNoOp;
}

uint32_t PassGraph::sole_reader(uint32_t tensor) const {
  return index_.has_one_reader(tensor) ? index_.consumers[tensor][0] : kNoOp;
}

bool PassGraph::is_known(uint32_t tensor) const {
  if (tensor == kNoTensor) return false;
  const TensorRole role = graph_.tensors[tensor].role;
  return role == TensorRole::constant || (use_ == ModelUse::predict && has_payload(role));
}

std::vector<float> PassGraph::values(uint32_t tensor) const {
  const TensorInfo& info = graph_.tensors[tensor];
  std::vector<float> values(elements(info.shape));
  if (info.role == TensorRole::constant) {
    std::memcpy(values.data(), info.data.data(), values.size() * sizeof(float));
  } else {
    std::copy_n(payload_.begin() + static_cast<ptrdiff_t>(info.payload_offset / sizeof(float)), values.size(),
                values.begin());
  }
  return values;
}

std::optional<float> PassGraph::scalar(uint32_t tensor) const {
  if (!is_known(tensor) || type(tensor) != DataType::float32 || elements(shape(tensor)) != 1) return std::nullopt;
  return values(tensor)[0];
}

std::vector<int32_t> PassGraph::integers(uint32_t tensor) const {
  const TensorInfo& info = graph_.tensors[tensor];
  std::vector<int32_t> values(elements(info.shape));
  std::memcpy(values.data(), info.data.data(), values.size() * sizeof(int32_t));
  return values;
}

bool PassGraph::read_instead(uint32_t tensor, uint32_t by) {
  if (is_output(tensor)) {
    if (index_.producer[by] == kNoOp || is_output(by)) return false;
    if (graph_.output == tensor) graph_.output = by;
    std::ranges::replace(further_outputs_, tensor, by);
    std::swap(graph_.tensors[tensor].name, graph_.tensors[by].name);
  }
  for (OpInfo& op : graph_.ops) std::ranges::replace(op.inputs, tensor, by);
  return true;
}

std::optional<uint32_t> PassGraph::add_known(const std::string& name, Shape shape, const std::vector<float>& values) {
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return std::nullopt;
  const bool is_constant = use_ == ModelUse::train;
  if (is_constant && values.size() > kConstantElementsMax) return std::nullopt;
  TensorInfo info{.name = {}, .role = TensorRole::constant, .shape = std::move(shape)};
  const auto* const bytes = reinterpret_cast<const uint8_t*>(values.data());
  if (is_constant) {
    info.data = Bytes(bytes, bytes + values.size() * sizeof(float));
  } else {
    info.role = TensorRole::parameter;
    info.is_frozen = true;
    info.payload_offset = payload_.size() * sizeof(float);
    payload_.insert(payload_.end(), values.begin(), values.end());
  }
  // The end of one that is too long: names of names grow, and one beyond the format's limit would be no file.
  const std::string base = name.substr(name.size() - std::min(name.size(), kNameBytesMax));
  info.name = base;
  // Two tensors of one name would be two layers of one name to whoever looks.
  for (size_t i = 2; std::ranges::find(graph_.tensors, info.name, &TensorInfo::name) != graph_.tensors.end(); ++i) {
    info.name = base + "." + std::to_string(i);
  }
  types_.push_back({DataType::float32, info.shape});
  graph_.tensors.push_back(std::move(info));
  return static_cast<uint32_t>(graph_.tensors.size() - 1);
}

Status PassGraph::refresh() {
  index_ = GraphIndex(graph_, further_outputs_);
  COT_ASSIGN(SymbolicTypes symbolic, infer_symbolic(graph_));
  types_ = std::move(symbolic.types);
  return {};
}

size_t PassGraph::drop_dead() {
  index_ = GraphIndex(graph_, further_outputs_);
  size_t kept = 0;
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    if (!index_.is_needed[i]) continue;
    if (kept != i) graph_.ops[kept] = std::move(graph_.ops[i]);
    ++kept;
  }
  const size_t dropped = graph_.ops.size() - kept;
  graph_.ops.resize(kept);
  index_ = GraphIndex(graph_, further_outputs_);
  return dropped;
}

}  // namespace coterie
