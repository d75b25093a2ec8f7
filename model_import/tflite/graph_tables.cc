// How constants and grids of a file become those of a graph.
#include "model_import/graph/order.h"
#include "model_import/tflite/graph_maker.h"

namespace coterie::model_import {
namespace {

Width qdq_width(TfliteType type) {
  return type == TfliteType::int8 ? Width::int8 : type == TfliteType::uint8 ? Width::uint8 : Width::int32;
}

HostTensor host_of(const TfliteTensor& tensor) {
  HostTensor host;
  host.element = element_of(tensor.type);
  host.shape = tensor.shape;
  if (host.element == Element::real) {
    for (const double value : numbers_of(tensor)) host.reals.push_back(static_cast<float>(value));
  } else {
    for (const int64_t value : integers_of(tensor)) host.integers.push_back({value, false});
  }
  return host;
}

}  // namespace

Element element_of(TfliteType type) {
  if (is_real(type)) return Element::real;
  return type == TfliteType::boolean ? Element::boolean : Element::integer;
}

bool is_narrow(TfliteType type) {
  return type == TfliteType::int8 || type == TfliteType::uint8 || type == TfliteType::int16;
}

bool GraphMaker::is_on_grid(const TfliteTensor& tensor) const {
  return numbers_ == TfliteNumbers::qdq && tensor.grid.is_given() && is_narrow(tensor.type);
}

HostTensor GraphMaker::real_values(const TfliteTensor& tensor) const {
  HostTensor host = host_of(tensor);
  if (host.element == Element::real || !tensor.grid.is_given()) return host;
  HostTensor real;
  real.shape = host.shape;
  size_t inner = 1;
  for (size_t d = tensor.grid.axis + 1; d < tensor.shape.size(); ++d) inner *= static_cast<size_t>(tensor.shape[d]);
  const size_t places = tensor.grid.scales.size();
  for (size_t i = 0; i < host.integers.size(); ++i) {
    const size_t place = places == 1 ? 0 : i / inner % places;
    real.reals.push_back(tensor.grid.scales[place] * static_cast<float>(static_cast<double>(host.integers[i].value) -
                                                                        static_cast<double>(tensor.grid.zeros[place])));
  }
  return real;
}

Result<std::string> GraphMaker::read(size_t i) {
  const int32_t index = op_->inputs[i];
  const TfliteTensor& tensor = model_.tensor(index);
  if (const auto found = read_as_.find(index); found != read_as_.end()) return found->second;
  if (!tensor.is_constant()) {
    return Error(ErrorCode::invalid_argument, "its input " + tensor.name + " is a variable, which is not supported");
  }
  if (!is_on_grid(tensor)) {
    graph_.constants[tensor.name] = {real_values(tensor), false};
    return read_as_[index] = tensor.name;
  }
  COT_ASSIGN(read_as_[index], quantised_table(tensor, host_of(tensor), tensor.grid.axis));
  return read_as_[index];
}

Result<std::string> GraphMaker::table(size_t i, const std::vector<uint32_t>& order, Shape shape) {
  const auto widened = widened_.find(op_->inputs[i]);
  const TfliteTensor& tensor = widened == widened_.end() ? input(i) : model_.tensor(widened->second);
  if (!tensor.is_constant()) {
    return Error(ErrorCode::invalid_argument,
                 "its input " + std::to_string(i) + " (" + tensor.name + ") must be a constant");
  }
  if (tensor.shape.size() != order.size()) {
    return Error(ErrorCode::malformed, "its input " + std::to_string(i) + " must have " + std::to_string(order.size()) +
                                           " dimensions, has " + std::to_string(tensor.shape.size()));
  }
  const bool is_table = numbers_ == TfliteNumbers::qdq && tensor.grid.is_given() && !is_real(tensor.type);
  const HostTensor from = is_table ? host_of(tensor) : real_values(tensor);
  HostTensor to;
  to.element = from.element;
  to.shape = shape.empty() ? permuted(from.shape, order) : std::move(shape);
  for (const uint64_t source : permuted_indices(from.shape, order)) {
    if (from.element == Element::real) to.reals.push_back(from.reals[source]);
    else to.integers.push_back(from.integers[source]);
  }
  if (is_table) return quantised_table(tensor, std::move(to), position_of(order, tensor.grid.axis));
  const std::string name = constant_name(tensor.name);
  graph_.constants[name] = {std::move(to), false};
  return name;
}

Result<std::string> GraphMaker::quantised_table(const TfliteTensor& tensor, HostTensor integers, size_t axis) {
  const std::string name = constant_name(tensor.name);
  integers.width = qdq_width(tensor.type);
  const bool is_one = tensor.grid.scales.size() == 1;
  HostTensor scales, zeros;
  scales.reals = tensor.grid.scales;
  zeros.element = Element::integer;
  zeros.width = integers.width;
  for (const int64_t zero : tensor.grid.zeros) zeros.integers.push_back({zero, false});
  if (!is_one) scales.shape = zeros.shape = {static_cast<int64_t>(tensor.grid.scales.size())};
  graph_.constants[name] = {std::move(integers), false};
  std::map<std::string, Attribute> attributes;
  if (!is_one) attributes["axis"] = static_cast<int64_t>(axis);
  const std::string scale = constant(std::move(scales)), zero = constant(std::move(zeros));
  return node("DequantizeLinear", {name, scale, zero}, std::move(attributes));
}

std::string GraphMaker::on_grid(const std::string& value, const TfliteTensor& tensor) {
  HostTensor scale, zero;
  scale.reals = {tensor.grid.scales[0]};
  zero.element = Element::integer;
  zero.width = qdq_width(tensor.type);
  zero.integers = {{tensor.grid.zeros[0], false}};
  const std::string s = constant(std::move(scale)), z = constant(std::move(zero));
  return node("DequantizeLinear", {node("QuantizeLinear", {value, s, z}), s, z});
}

}  // namespace coterie::model_import
