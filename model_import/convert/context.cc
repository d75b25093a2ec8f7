#include "model_import/convert/context.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text/name_pattern.h"
#include "model_import/convert/computed_table.h"

namespace coterie::model_import {
namespace {

constexpr int64_t kElementsMax = int64_t{1} << 40;  // keeps products of sizes far from overflow
constexpr float kMaskBelow = -1e4f;                 // BERT's masks are -10000, others -inf or the lowest float

}  // namespace

bool is_made_up(const std::string& initializer) {
  return initializer.empty() || initializer.starts_with("onnx::") || initializer.starts_with("/") ||
         std::ranges::all_of(initializer, [](char c) { return c >= '0' && c <= '9'; });
}

std::string name_of(const Node& node) {
  std::string name = node.name.empty() ? node.outputs[0] : node.name;
  return name.starts_with("/") ? name.substr(1) : name;
}

std::string scope_of(const Node& node) {
  if (!node.name.starts_with("/")) return node.name.empty() ? node.outputs[0] : node.name;
  std::vector<std::string> parts;
  for (size_t at = 1; at < node.name.size();) {
    const size_t end = std::min(node.name.find('/', at), node.name.size());
    std::string part = node.name.substr(at, end - at);
    at = end + 1;
    if (!parts.empty() && part.starts_with(parts.back() + ".")) parts.back() = std::move(part);
    else parts.push_back(std::move(part));
  }
  if (parts.size() > 1) parts.pop_back();  // the op itself
  std::string scope;
  for (const std::string& part : parts) scope += (scope.empty() ? "" : ".") + part;
  return scope;
}

size_t Context::readers(const std::string& name) const {
  const auto found = readers_.find(name);
  return found == readers_.end() ? 0 : found->second;
}

void Context::count_readers() {
  for (const Node& node : graph_.nodes) {
    const bool is_copy = node.op == "Identity" && !node.inputs.empty() && graph_.constants.contains(node.inputs[0]);
    for (const std::string& input : node.inputs) readers_[input] += is_copy ? 0 : 1;
  }
}

Value* Context::find(const std::string& name) {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

void Context::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

Result<const HostTensor*> Context::host(const Node& node, size_t i) {
  const Value& value = in(node, i);
  if (value.host != nullptr) return value.host;
  return unsupported(node, "its operand " + std::to_string(i) + " (" + value.name +
                               ") depends on the input; it must be known when the model is converted");
}

Result<std::vector<int64_t>> Context::whole_numbers(const Node& node, size_t i) {
  COT_ASSIGN(const HostTensor* tensor, host(node, i));
  if (tensor->element == Element::real)
    return unsupported(node, "its operand " + std::to_string(i) + " must be of integers");
  std::vector<int64_t> numbers;
  if (tensor->is_uniform) return unsupported(node, "its operand " + std::to_string(i) + " must be a list of integers");
  for (const Integer& integer : tensor->integers) {
    if (integer.per_batch) return unsupported(node, "its operand " + std::to_string(i) + " depends on the batch size");
    numbers.push_back(integer.value);
  }
  return numbers;
}

Result<float> Context::number(const Node& node, size_t i) {
  COT_ASSIGN(const HostTensor* tensor, host(node, i));
  if (tensor->stored() != 1) return unsupported(node, "its operand " + std::to_string(i) + " must be one number");
  if (tensor->element == Element::real) return tensor->reals[0];
  return static_cast<float>(tensor->integers[0].value);
}

Order Context::lying_order(const Value& value) const {
  if (value.tensor != kNoTensor) return value.order;
  if (value.host != nullptr) {
    if (const auto found = placed_.find(value.host); found != placed_.end()) return found->second.order;
  }
  return identity_order(value.rank());
}

bool Context::is_said(const std::vector<std::string>& patterns, const Value& value) {
  for (const std::string& pattern : patterns) {
    if (!name_matches(pattern, value.initializer) && !name_matches(pattern, value.name)) continue;
    matched_.insert(pattern);
    return true;
  }
  return false;
}

bool Context::is_computed(const HostTensor& tensor) {
  const auto [found, is_new] = computed_.try_emplace(&tensor, false);
  if (is_new) found->second = is_computed_table(tensor);
  return found->second;
}

bool Context::is_trained_operand(const Value& value) {
  if (value.host == nullptr || value.initializer.empty() || value.element != Element::real) return false;
  const HostTensor& tensor = *value.host;
  if (tensor.is_uniform || tensor.reals.size() < 2) return false;
  if (is_said_trainable(value)) return true;
  if (is_said(patterns_.constant, value)) {
    note_constant(value, "--constant names it");
    return false;
  }
  if (!std::ranges::all_of(tensor.reals, [](float v) { return std::isfinite(v) && v > kMaskBelow; })) return false;
  if (!is_computed(tensor)) return true;
  note_constant(value, "it holds sines and cosines of positions");
  return false;
}

bool Context::is_raw_input(const Value& value) const {
  return value.tensor != kNoTensor && (writer.role(value.tensor) == TensorRole::input || raw_.contains(value.tensor));
}

void Context::note(const std::string& name, const Shape& shape, const std::string& what, bool is_note) {
  std::string dimensions;
  for (const int64_t dimension : shape) dimensions += (dimensions.empty() ? "" : "x") + std::to_string(dimension);
  std::string text = name + " (" + dimensions + ") " + what;
  if (node_ != nullptr) text += ": " + node_->what() + " reads it";
  uses_.try_emplace(name, TableUse{name, std::move(text), is_note});
}

void Context::note_constant(const Value& value, const std::string& why) {
  note(is_made_up(value.initializer) ? value.name : value.initializer, value.shape, "is not trained, because " + why,
       true);
}

std::vector<TableUse> Context::uses() const {
  std::vector<TableUse> uses;
  for (const auto& [name, use] : uses_) uses.push_back(use);
  return uses;
}

Status Context::check_patterns() const {
  for (const auto* patterns : {&patterns_.constant, &patterns_.trainable}) {
    for (const std::string& pattern : *patterns) {
      if (matched_.contains(pattern)) continue;
      return Error(ErrorCode::invalid_argument,
                   std::string(patterns == &patterns_.constant ? "--constant " : "--trainable ") + pattern +
                       " matches no table of the model that an operator reads");
    }
  }
  return {};
}

TensorIndex Context::in_shape(Value& value, const Order& order, const Shape& shape, bool is_trained) {
  const HostTensor& tensor = *value.host;
  const std::string& name = is_made_up(value.initializer) ? value.name : value.initializer;
  if (tensor.is_uniform) {
    const Shape ones(shape.size(), 1);
    TensorIndex one;
    if (tensor.element == Element::real) {
      one = writer.constant(name, ones, std::span<const float>(tensor.reals));
    } else {
      const std::array<int32_t, 1> number{static_cast<int32_t>(tensor.integers[0].value)};
      one = writer.constant(name, ones, std::span<const int32_t>(number));
    }
    value.tensor = ones == shape ? one
                                 : writer.op(OpKind::expand, name + ".expand", {one}, ShapeAttributes{shape}, shape,
                                             data_type(tensor.element));
  } else if (tensor.element == Element::real) {
    const std::vector<float> values = permuted_elements(tensor.reals, tensor.shape, order);
    value.tensor = is_trained ? writer.parameter(name, shape.empty() ? Shape{1} : shape, values)
                              : writer.constant(name, shape.empty() ? Shape{1} : shape, values);
    if (is_trained) {
      note(writer.name(value.tensor), tensor.shape, "is trained, though it is no layer's weight (--constant keeps it)",
           !is_said_trainable(value));
    }
  } else {
    std::vector<int32_t> values;
    for (const uint64_t source : permuted_indices(tensor.shape, order)) {
      const Integer& integer = tensor.integers[source];
      if (integer.per_batch)
        fail(Error(ErrorCode::invalid_argument, value.name + " holds the batch size, and the model computes with it"));
      if (integer.value < std::numeric_limits<int32_t>::min() || integer.value > std::numeric_limits<int32_t>::max()) {
        fail(Error(ErrorCode::invalid_argument,
                   value.name + " holds " + std::to_string(integer.value) + ", which does not fit into 32 bits"));
      }
      values.push_back(static_cast<int32_t>(integer.value));
    }
    value.tensor = writer.constant(name, shape.empty() ? Shape{1} : shape, std::span<const int32_t>(values));
  }
  value.order = order;
  placed_[value.host] = {value.tensor, value.order};
  return value.tensor;
}

TensorIndex Context::in_order(Value& value, const Order& order) {
  if (value.tensor == kNoTensor && value.host != nullptr) {
    if (const auto found = placed_.find(value.host); found != placed_.end()) {
      value.tensor = found->second.tensor;
      value.order = found->second.order;
    } else {
      in_shape(value, order, permuted(value.shape, order), is_trained_operand(value));
    }
  }
  Order relative;
  for (const uint32_t axis : order) relative.push_back(position_of(value.order, axis));
  return writer.transpose(writer.reshape(value.tensor, permuted(value.shape, value.order)), relative);
}

TensorIndex Context::parameter(const Node& node, const Value& value, const std::string& part, Shape shape,
                               std::span<const float> values, TensorRole role) {
  return add_parameter(value, is_made_up(value.initializer) ? scope_of(node) + "." + part : value.initializer, part,
                       std::move(shape), values, role);
}

TensorIndex Context::part_parameter(const Value& value, const std::string& part, const std::string& name, Shape shape,
                                    std::span<const float> values) {
  const auto [found, is_new] = parts_.try_emplace({value.host, part}, kNoTensor);
  if (is_new) found->second = add_parameter(value, name, part, std::move(shape), values, TensorRole::parameter);
  return found->second;
}

TensorIndex Context::add_parameter(const Value& value, const std::string& name, const std::string& part, Shape shape,
                                   std::span<const float> values, TensorRole role) {
  if (role == TensorRole::parameter && is_said(patterns_.constant, value)) {
    note_constant(value, "--constant names it");
    return writer.constant(name, std::move(shape), values);
  }
  if (role == TensorRole::parameter) is_said_trainable(value);  // it is, and the pattern has matched
  const Shape held = shape;
  const TensorIndex tensor = writer.parameter(name, std::move(shape), values, role);
  if (role == TensorRole::parameter) note(writer.name(tensor), held, "is trained, as the " + part, false);
  return tensor;
}

Result<TensorIndex> Context::weight(const Node& node, size_t i, const std::string& part, const Order& order,
                                    size_t ones) {
  Value& value = in(node, i);
  if (value.element != Element::real) return unsupported(node, "its " + part + " must be of floats");
  Shape shape = permuted(value.shape, order);
  shape.insert(shape.begin(), ones, 1);
  if (value.host == nullptr || placed_.contains(value.host)) return writer.reshape(in_order(value, order), shape);
  if (value.host->is_uniform) return unsupported(node, "its " + part + " has a shape that depends on the batch");
  value.tensor =
      parameter(node, value, part, std::move(shape), permuted_elements(value.host->reals, value.shape, order));
  value.order = order;
  placed_[value.host] = {value.tensor, order};
  return value.tensor;
}

Result<TensorIndex> Context::vector_parameter(const Node& node, size_t i, const std::string& part, int64_t count,
                                              TensorRole role) {
  const bool is_norm_part = role == TensorRole::parameter && node.op.ends_with("Normalization");
  Value& value = in(node, i);
  COT_ASSIGN(const HostTensor* tensor, host(node, i));
  if (tensor->element != Element::real || tensor->is_uniform || tensor->reals.size() != static_cast<size_t>(count)) {
    return unsupported(
        node, "its operand " + std::to_string(i) + " (" + part + ") must have " + std::to_string(count) + " floats");
  }
  if (const auto found = placed_.find(value.host); found != placed_.end()) {
    return writer.reshape(found->second.tensor, {count});
  }
  // A Constant node's numbers are the exporter's, who writes a norm without weights with ones and zeros.
  const bool is_fixed = is_norm_part && value.initializer.empty();
  value.tensor = is_fixed ? writer.constant(scope_of(node) + "." + part, {count}, std::span<const float>(tensor->reals))
                          : parameter(node, value, part, {count}, tensor->reals, role);
  value.order = identity_order(value.rank());
  placed_[value.host] = {value.tensor, value.order};
  return value.tensor;
}

void Context::check_size(TensorIndex tensor) {
  int64_t count = 1;
  for (const int64_t dimension : writer.shape(tensor)) {
    if (__builtin_mul_overflow(count, dimension < 0 ? -dimension : dimension, &count) || count > kElementsMax) {
      fail(Error(ErrorCode::too_large, "a tensor of more than 2^40 elements an example"));
      return;
    }
  }
}

Value& Context::define(const Node& node, size_t i, TensorIndex tensor, const Order& order) {
  check_size(tensor);
  Value& value = values_[node.outputs[i]];
  value.name = node.outputs[i];
  value.shape = unpermuted(writer.shape(tensor), order);
  value.element = writer.type(tensor) == DataType::float32 ? Element::real : Element::integer;
  value.tensor = tensor;
  value.order = order;
  return value;
}

Value& Context::define(const Node& node, size_t i, TensorIndex tensor) {
  return define(node, i, tensor, identity_order(writer.shape(tensor).size()));
}

void Context::define_host(const std::string& name, HostTensor tensor, const std::string& initializer) {
  owned_.push_back(std::make_unique<HostTensor>(std::move(tensor)));
  const HostTensor& held = *owned_.back();
  Value& value = values_[name];
  value = {};
  value.name = name;
  value.shape = held.shape;
  value.element = held.element;
  value.host = &held;
  value.initializer = initializer;
}

void Context::define_constant(const std::string& name, const Constant& constant) {
  Value& value = values_[name];
  value.name = name;
  value.shape = constant.tensor.shape;
  value.element = constant.tensor.element;
  value.host = &constant.tensor;
  if (!constant.is_literal) value.initializer = name;
}

void Context::define_input(const std::string& name, const Shape& shape, Element element, TensorIndex tensor,
                           Order order) {
  values_[name] = {.name = name,
                   .shape = shape,
                   .element = element,
                   .host = nullptr,
                   .initializer = {},
                   .tensor = tensor,
                   .order = std::move(order)};
  check_size(tensor);
}

void Context::alias(const Node& node, const Value& value) {
  Value copy = value;
  copy.name = node.outputs[0];
  values_[node.outputs[0]] = std::move(copy);
}

}  // namespace coterie::model_import
