#include "model_import/convert/model_writer.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "model_import/convert/permitted_name.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "proto/messages/model_outputs.h"

namespace coterie::model_import {
namespace {

template <typename T>
Bytes bytes_of(std::span<const T> values) {
  static_assert(sizeof(T) == kElementBytes);
  Bytes bytes(values.size_bytes());
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

std::string permitted_name(const std::string& name) {
  constexpr size_t kLongest = limits::kTextBytesMax - 16;  // leaves room for a suffix that makes it unique
  std::string text;
  for (const char c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                          c == '_' || c == '-' || c == '/';
    text += is_plain ? c : '_';
  }
  if (text.size() > kLongest) text = text.substr(text.size() - kLongest);
  return text.empty() ? "unnamed" : text;
}

std::string ModelWriter::unique(const std::string& name) {
  const std::string base = permitted_name(name);
  std::string candidate = base;
  uint32_t& suffix = next_suffix_[base];
  while (!names_.insert(candidate).second) candidate = base + "_" + std::to_string(++suffix + 1);
  return candidate;
}

TensorIndex ModelWriter::add(TensorInfo info, Shape shape) {
  types_.push_back(info.type);
  if (info.role == TensorRole::activation) info.type = DataType::float32;  // inferred by whoever loads the model
  graph_.tensors.push_back(std::move(info));
  shapes_.push_back(std::move(shape));
  values_.emplace_back();
  return static_cast<TensorIndex>(graph_.tensors.size() - 1);
}

TensorIndex ModelWriter::input(const std::string& name, Shape shape, DataType type) {
  Shape whole{-1};
  whole.insert(whole.end(), shape.begin(), shape.end());
  const TensorIndex index = add(
      {.name = unique(name), .role = TensorRole::input, .shape = std::move(shape), .type = type, .data = {}}, whole);
  graph_.inputs.push_back(index);
  return index;
}

TensorIndex ModelWriter::parameter(const std::string& name, Shape shape, std::span<const float> values,
                                   TensorRole role) {
  const TensorIndex index = add({.name = unique(name), .role = role, .shape = shape, .data = {}}, shape);
  values_[index].assign(values.begin(), values.end());
  return index;
}

TensorIndex ModelWriter::constant(const std::string& name, Shape shape, std::span<const float> values) {
  return add({.name = unique(name), .role = TensorRole::constant, .shape = shape, .data = bytes_of(values)}, shape);
}

TensorIndex ModelWriter::constant(const std::string& name, Shape shape, std::span<const int32_t> values) {
  return add({.name = unique(name),
              .role = TensorRole::constant,
              .shape = shape,
              .type = DataType::int32,
              .data = bytes_of(values)},
             shape);
}

std::vector<TensorIndex> ModelWriter::ops(OpKind kind, const std::string& name, std::vector<uint32_t> inputs,
                                          OpAttributes attributes, std::vector<Shape> shapes) {
  std::vector<TensorIndex> outputs;
  const std::string op_name = unique(name);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string output = shapes.size() == 1 ? op_name + ".out" : op_name + ".out" + std::to_string(i);
    outputs.push_back(
        add({.name = unique(output), .role = TensorRole::activation, .shape = {}, .data = {}}, shapes[i]));
  }
  graph_.ops.push_back({.kind = kind,
                        .name = op_name,
                        .inputs = std::move(inputs),
                        .outputs = outputs,
                        .attributes = std::move(attributes)});
  return outputs;
}

TensorIndex ModelWriter::op(OpKind kind, const std::string& name, std::vector<uint32_t> inputs, OpAttributes attributes,
                            Shape shape, DataType type) {
  const TensorIndex output = ops(kind, name, std::move(inputs), std::move(attributes), {std::move(shape)})[0];
  types_[output] = type;
  return output;
}

TensorIndex ModelWriter::reshape(TensorIndex x, const Shape& shape) {
  if (const auto found = reshape_source_.find(x); found != reshape_source_.end()) x = found->second;
  if (shapes_[x] == shape) return x;
  const auto [found, is_new] = reshaped_.emplace(std::pair(x, shape), 0);
  if (is_new) {
    found->second = op(OpKind::reshape, name(x) + ".reshape", {x}, ShapeAttributes{shape}, shape, types_[x]);
    reshape_source_[found->second] = x;
  }
  return found->second;
}

TensorIndex ModelWriter::transpose(TensorIndex x, const Order& order) {
  if (order == identity_order(order.size())) return x;
  Order moved;  // dimensions of size 1 may go anywhere: only the others have to be moved
  for (const uint32_t i : order) {
    if (shapes_[x][i] != 1) moved.push_back(i);
  }
  if (std::is_sorted(moved.begin(), moved.end())) return reshape(x, permuted(shapes_[x], order));
  const auto [found, is_new] = transposed_.emplace(std::pair(x, order), 0);
  if (is_new) {
    found->second = op(OpKind::transpose, name(x) + ".transpose", {x},
                       TransposeAttributes{std::vector<int64_t>(order.begin(), order.end())},
                       permuted(shapes_[x], order), types_[x]);
  }
  return found->second;
}

void ModelWriter::drop_unused(std::vector<TensorIndex>& outputs) {
  std::vector<bool> used(graph_.tensors.size());
  for (const TensorIndex output : outputs) used[output] = true;
  for (const uint32_t input : graph_.inputs) used[input] = true;
  std::vector<OpInfo> kept;
  for (auto op = graph_.ops.rbegin(); op != graph_.ops.rend(); ++op) {
    if (std::ranges::none_of(op->outputs, [&](uint32_t output) { return used[output]; })) continue;
    for (const uint32_t input : op->inputs) {
      if (input != kNoTensor) used[input] = true;
    }
    used[op->outputs[0]] = true;
    for (uint32_t& output : op->outputs) {
      if (!used[output] && op->kind != OpKind::split) output = kNoTensor;
      else used[output] = true;
    }
    kept.push_back(std::move(*op));
  }
  std::ranges::reverse(kept);
  std::vector<uint32_t> moved_to(graph_.tensors.size(), kNoTensor);
  std::vector<TensorInfo> tensors;
  std::vector<std::vector<float>> values;
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    moved_to[i] = static_cast<uint32_t>(tensors.size());
    tensors.push_back(std::move(graph_.tensors[i]));
    values.push_back(std::move(values_[i]));
  }
  const auto move = [&](uint32_t& index) { index = index == kNoTensor ? kNoTensor : moved_to[index]; };
  for (OpInfo& op : kept) {
    std::ranges::for_each(op.inputs, move);
    std::ranges::for_each(op.outputs, move);
  }
  std::ranges::for_each(graph_.inputs, move);
  std::ranges::for_each(outputs, move);
  graph_.ops = std::move(kept);
  graph_.tensors = std::move(tensors);
  values_ = std::move(values);
}

Bytes ModelWriter::payload_of_kept() {
  uint64_t size = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!has_payload(graph_.tensors[i].role)) continue;
    graph_.tensors[i].payload_offset = size;
    size = round_up<uint64_t>(size + values_[i].size() * sizeof(float), limits::kParameterAlignment);
  }
  Bytes payload(size);
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].empty()) continue;
    std::memcpy(payload.data() + graph_.tensors[i].payload_offset, values_[i].data(),
                values_[i].size() * sizeof(float));
  }
  return payload;
}

void ModelWriter::name_outputs(const std::vector<TensorIndex>& outputs, const std::vector<std::string>& names) {
  for (size_t i = 0; outputs.size() > 1 && i < names.size(); ++i) {
    const std::string name = permitted_name(names[i]);
    const bool is_taken = std::ranges::any_of(graph_.tensors, [&](const TensorInfo& t) { return t.name == name; });
    if (!is_taken && !name.empty()) graph_.tensors[outputs[i]].name = name;
  }
}

Result<Bytes> ModelWriter::finish(const std::string& name, std::vector<TensorIndex> outputs,
                                  const std::vector<std::string>& output_names) {
  graph_.name = permitted_name(name);
  drop_unused(outputs);
  name_outputs(outputs, output_names);
  set_graph_outputs(graph_, outputs);
  if (graph_.tensors.size() > limits::kModelTensorsMax || graph_.ops.size() > limits::kModelOpsMax) {
    return Error(ErrorCode::too_large, "the model would have " + std::to_string(graph_.tensors.size()) +
                                           " tensors and " + std::to_string(graph_.ops.size()) +
                                           " ops, at most 16384 each");
  }
  for (const OpInfo& op : graph_.ops) {
    if (op.inputs.size() > limits::kOpOperandsMax || op.outputs.size() > limits::kOpOperandsMax) {
      return Error(ErrorCode::too_large, "op " + op.name + " has more than 256 operands");
    }
  }
  const Bytes payload = payload_of_kept();
  Bytes file = encode_head(graph_, payload.size());
  if (file.size() > limits::kFileHeaderBytesMax) {
    return Error(ErrorCode::too_large, "the model's graph and constants take " + std::to_string(file.size()) +
                                           " bytes, at most 32 MiB: large tables should be initializers");
  }
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

}  // namespace coterie::model_import
