#include "model_import/export/context.h"

#include <algorithm>
#include <cstring>

#include "model_import/graph/order.h"

namespace coterie::model_import {

ExportContext::ExportContext(const Model& model, const ExportGrids* grids)
    : model_(model), grids_(grids), placed_(model.graph().tensors.size()) {}

bool ExportContext::is_stored(uint32_t tensor) const {
  const TensorRole role = model_.graph().tensors[tensor].role;
  return has_payload(role) || role == TensorRole::constant;
}

std::span<const float> ExportContext::values(uint32_t tensor) const {
  const TensorInfo& info = model_.graph().tensors[tensor];
  const size_t count = *element_count(info.shape);
  return model_.parameters().subspan(info.payload_offset / sizeof(float), count);
}

std::vector<float> ExportContext::stored(uint32_t tensor) const {
  const TensorInfo& info = model_.graph().tensors[tensor];
  if (info.role != TensorRole::constant) return {values(tensor).begin(), values(tensor).end()};
  std::vector<float> held(info.data.size() / sizeof(float));
  std::memcpy(held.data(), info.data.data(), info.data.size());
  return held;
}

std::string ExportContext::unique(const std::string& base) {
  const uint32_t uses = names_[base]++;
  return uses == 0 ? base : unique(base + "_" + std::to_string(uses));
}

std::string ExportContext::node(const std::string& op, std::vector<std::string> inputs,
                                std::map<std::string, Attribute> attributes, std::string output) {
  const std::string name = unique((current == nullptr ? "" : current->name + "/") + op);
  if (output.empty()) output = unique(name + "_output");
  graph.nodes.push_back(
      {.op = op, .name = name, .inputs = std::move(inputs), .outputs = {output}, .attributes = std::move(attributes)});
  return output;
}

std::string ExportContext::integers(const std::vector<int64_t>& values) {
  std::string& name = lists_[values];
  if (!name.empty()) return name;
  name = unique("list");
  std::vector<Integer> integers;
  for (const int64_t value : values) integers.push_back({value, false});
  graph.constants[name] = {host_integers(std::move(integers)), false};
  return name;
}

std::string ExportContext::reals(const std::vector<float>& values, Shape shape) {
  const std::string name = unique((current == nullptr ? "" : current->name + ".") + "constant");
  HostTensor tensor;
  tensor.shape = std::move(shape);
  tensor.reals = values;
  graph.constants[name] = {std::move(tensor), false};
  return name;
}

std::string ExportContext::initializer(uint32_t tensor, Shape shape, std::vector<float> values) {
  const std::string name = unique(model_.graph().tensors[tensor].name);
  HostTensor held;
  held.shape = std::move(shape);
  held.reals = std::move(values);
  graph.constants[name] = {std::move(held), false};
  return name;
}

// `shape`: that of the elements in `order`, maybe with other dimensions of size 1.
void ExportContext::write_stored(uint32_t tensor, const Order& order, Shape shape) {
  const TensorInfo& info = model_.graph().tensors[tensor];
  Placed placed{.value = {}, .order = order};
  if (grids_ != nullptr) {
    if (const auto held = grids_->stored.find(tensor); held != grids_->stored.end()) {
      placed.value = dequantised(tensor, held->second, order, std::move(shape));
      placed_[tensor] = std::move(placed);
      return;
    }
  }
  if (info.role != TensorRole::constant || info.type == DataType::float32) {
    placed.value = initializer(tensor, std::move(shape), permuted_elements(stored(tensor), info.shape, order));
  } else {
    HostTensor held;
    held.element = Element::integer;
    held.shape = std::move(shape);
    for (const uint64_t source : permuted_indices(info.shape, order)) {
      int32_t number;
      std::memcpy(&number, info.data.data() + source * sizeof(number), sizeof(number));
      held.integers.push_back({number, false});
    }
    placed.value = unique(info.name);
    graph.constants[placed.value] = {std::move(held), false};
  }
  placed_[tensor] = std::move(placed);
}

std::string ExportContext::whole(const std::string& name, Width width, Shape shape,
                                 const std::vector<int32_t>& values) {
  HostTensor held;
  held.element = Element::integer;
  held.width = width;
  held.shape = std::move(shape);
  for (const int32_t value : values) held.integers.push_back({value, false});
  const std::string constant = unique(name);
  graph.constants[constant] = {std::move(held), false};
  return constant;
}

std::string ExportContext::dequantised(uint32_t tensor, const ExportIntegers& held, const Order& order, Shape shape) {
  const TensorInfo& info = model_.graph().tensors[tensor];
  std::vector<int32_t> values;
  for (const uint64_t source : permuted_indices(info.shape, order)) values.push_back(held.values[source]);
  const auto channels = static_cast<int64_t>(held.scales.size());
  std::vector<std::string> inputs{whole(info.name, held.is_bias ? Width::int32 : Width::int8, std::move(shape), values),
                                  reals(held.scales, {channels})};
  if (!held.is_bias) {
    inputs.push_back(
        whole(info.name + "_zero_point", Width::int8, {channels}, std::vector<int32_t>(held.scales.size())));
  }
  return node("DequantizeLinear", std::move(inputs), {{"axis", int64_t{position_of(order, held.axis)}}});
}

std::string ExportContext::on_grid(const std::string& value, const kernels::int8::Grid& grid) {
  const std::string scale = real(grid.scale), zero = whole(value + "_zero_point", Width::int8, {}, {grid.zero});
  return node("DequantizeLinear", {node("QuantizeLinear", {value, scale, zero}), scale, zero});
}

Order ExportContext::lying_order(uint32_t tensor) const {
  return placed_[tensor] ? placed_[tensor]->order : identity_order(rank(tensor));
}

std::string ExportContext::in_order(uint32_t tensor, const Order& order) {
  if (!placed_[tensor]) write_stored(tensor, order, permuted(shape(tensor), order));
  const Placed placed = *placed_[tensor];
  const Shape lying = permuted(shape(tensor), placed.order);
  const auto constant = graph.constants.find(placed.value);
  const bool has_other_ones = constant != graph.constants.end() && constant->second.tensor.shape != lying;
  if (placed.order == order && !has_other_ones) return placed.value;
  std::string& value = moved_[{tensor, order}];
  if (!value.empty()) return value;
  const std::string whole = has_other_ones ? reshape(placed.value, lying) : placed.value;
  std::vector<int64_t> permutation;
  Order moving;
  for (const uint32_t axis : order) {
    permutation.push_back(position_of(placed.order, axis));
    if (shape(tensor)[axis] != 1) moving.push_back(position_of(placed.order, axis));
  }
  // Dimensions of size 1 move without their elements.
  value = std::ranges::is_sorted(moving) ? reshape(whole, permuted(shape(tensor), order))
                                         : node("Transpose", {whole}, {{"perm", permutation}});
  return value;
}

std::string ExportContext::broadcastable(uint32_t tensor, const Order& order) {
  const auto missing = static_cast<uint32_t>(order.size() - rank(tensor));
  Order own;
  Shape full;
  for (const uint32_t axis : order) {
    if (axis >= missing) own.push_back(axis - missing);
    full.push_back(axis >= missing ? shape(tensor)[axis - missing] : 1);
  }
  if (is_stored(tensor) && !placed_[tensor]) {
    const auto first = std::ranges::find_if(full, [](int64_t d) { return d != 1; });
    write_stored(tensor, own, Shape(first, full.end()));
    return placed_[tensor]->value;
  }
  const std::string value = in_order(tensor, own);
  return missing == 0 || order == identity_order(order.size()) ? value : reshape(value, full);
}

Order ExportContext::leading_order(const OpInfo& op) const {
  const size_t wanted = rank(op.outputs[0]);
  for (const uint32_t input : op.inputs) {
    if (!is_stored(input) && rank(input) == wanted) return lying_order(input);
  }
  return identity_order(wanted);
}

std::string ExportContext::shape_value(const Shape& shape) {
  const auto batch = std::ranges::find_if(shape, [](int64_t d) { return d < 0; });
  if (batch == shape.end()) return integers(shape);
  const std::string dimensions = node("Shape", {graph.inputs[0].name}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  const std::string examples = *batch == -1 ? dimensions : node("Mul", {dimensions, integers({-*batch})});
  std::vector<std::string> parts;
  for (const int64_t d : shape) parts.push_back(d < 0 ? examples : integers({d}));
  return parts.size() == 1 ? parts[0] : node("Concat", parts, {{"axis", int64_t{0}}});
}

std::string ExportContext::reshape(const std::string& value, const Shape& to) {
  std::vector<int64_t> target;
  for (const int64_t dimension : to) target.push_back(dimension < 0 ? -1 : dimension);
  return node("Reshape", {value, integers(target)});
}

void ExportContext::define(uint32_t tensor, std::string value, Order order) {
  if (grids_ != nullptr) {
    if (const auto grid = grids_->values.find(tensor); grid != grids_->values.end())
      value = on_grid(value, grid->second);
  }
  placed_[tensor] = Placed{std::move(value), std::move(order)};
}

}  // namespace coterie::model_import
