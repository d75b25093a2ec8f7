#include "model_import/mslite/node_maker.h"

#include <numeric>

#include "model_import/graph/order.h"

namespace coterie::model_import {
namespace {

Element element_of(MsliteType type) {
  if (is_real(type)) return Element::real;
  return type == MsliteType::boolean ? Element::boolean : Element::integer;
}

HostTensor host_of(const MsliteTensor& tensor) {
  HostTensor host;
  host.element = element_of(tensor.type);
  host.shape = tensor.shape;
  if (host.element == Element::real) {
    host.reals = reals_of(tensor);
  } else {
    for (const int64_t value : integers_of(tensor)) host.integers.push_back({value, false});
  }
  return host;
}

}  // namespace

Result<Graph> make_graph(const MsliteModel& model) { return NodeMaker(model).run(); }

Result<Graph> NodeMaker::run() {
  graph_.name = model_.name;
  for (const MsliteTensor& tensor : model_.tensors) keep_name(tensor.name);
  COT_TRY(define_inputs());
  for (const MsliteOperator& op : model_.operators) {
    op_ = &op;
    set_base_name(output().name);
    bool is_made = false;
    for (auto* const family :
         {make_mslite_layer, make_mslite_elementwise, make_mslite_movement, make_mslite_recurrent}) {
      Result<bool> made = family(*this);
      if (!made) return made.error().with_context(what_of(op));
      is_made = is_made || *made;
      if (is_made) break;
    }
    if (!is_made) return no_counterpart(what_of(op) + " is not supported");
  }
  COT_TRY(define_outputs());
  COT_TRY(sort_nodes(graph_));
  return std::move(graph_);
}

Status NodeMaker::define_inputs() {
  for (const uint32_t i : model_.inputs) {
    const MsliteTensor& tensor = model_.tensors[i];
    if (!tensor.has_shape) return no_counterpart("the file says no shape of its input " + tensor.name);
    GraphValue value{.name = tensor.name, .element = element_of(tensor.type), .shape = {}};
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      // A batch that the file leaves open is one, as its reshapes are made for every one.
      if (tensor.shape[d] > 0) value.shape.push_back({.value = tensor.shape[d], .symbol = {}});
      else value.shape.push_back({.value = 0, .symbol = tensor.name + "." + std::to_string(d)});
    }
    graph_.inputs.push_back(std::move(value));
    read_as_[i] = tensor.name;
  }
  return {};
}

Status NodeMaker::define_outputs() {
  set_base_name("output");
  for (const uint32_t i : model_.outputs) {
    const MsliteTensor& tensor = model_.tensors[i];
    const auto found = read_as_.find(i);
    if (found == read_as_.end()) {
      return no_counterpart("the output " + tensor.name + " is a further one of its node, which is not computed");
    }
    if (found->second != tensor.name) node("Identity", {found->second}, {}, tensor.name);
    graph_.outputs.push_back({.name = tensor.name, .element = Element::real, .shape = {}});
  }
  return {};
}

Status NodeMaker::need_rank(size_t i, size_t rank) const {
  COT_ASSIGN(const size_t seen, rank_of(i));
  if (seen == rank) return {};
  return does_not_fit("its input " + std::to_string(i) + " must have " + std::to_string(rank) + " dimensions, has " +
                      std::to_string(seen));
}

Status NodeMaker::need_image(size_t i) const {
  COT_TRY(need_rank(i, 4));
  if (input(i).layout == MsliteLayout::nhwc) return {};
  return no_counterpart("its input " + input(i).name +
                        " is not laid out as NHWC: convert the model with inputDataFormat=NHWC");
}

Result<size_t> NodeMaker::rank_of(size_t i) const {
  if (input(i).has_shape) return input(i).shape.size();
  return no_counterpart("the file says no shape of its input " + input(i).name);
}

Result<std::vector<int64_t>> NodeMaker::whole_numbers(size_t i) const {
  if (!input(i).is_constant() || is_real(input(i).type)) {
    return no_counterpart("its input " + std::to_string(i) + " (" + input(i).name + ") must be constant whole numbers");
  }
  std::vector<int64_t> numbers = integers_of(input(i));
  for (int64_t& number : numbers) {
    if (number == INT64_MAX) number = INT32_MAX;  // "to the end", as exporters write it
    if (number < INT32_MIN || number > INT32_MAX) {
      return does_not_fit("its input " + std::to_string(i) + " holds a number that leaves 32 bits");
    }
  }
  return numbers;
}

Result<int64_t> NodeMaker::axis_within(int64_t axis, size_t rank) {
  const auto size = static_cast<int64_t>(rank);
  if (axis >= -size && axis < size) return axis < 0 ? axis + size : axis;
  return does_not_fit("its axis " + std::to_string(axis) + " is out of range");
}

Result<std::string> NodeMaker::read(size_t i) {
  const uint32_t index = op_->inputs[i];
  const MsliteTensor& tensor = model_.tensors[index];
  if (const auto found = read_as_.find(index); found != read_as_.end()) return found->second;
  if (!tensor.is_constant()) {
    return no_counterpart("its input " + tensor.name + " is a further output of its node, which is not computed");
  }
  const std::string name = constant_name(tensor.name);
  graph_.constants[name] = {host_of(tensor), false};
  return read_as_[index] = name;
}

Result<std::string> NodeMaker::table(size_t i, const std::vector<uint32_t>& order, Shape shape) {
  const MsliteTensor& tensor = input(i);
  if (!tensor.is_constant() || !is_real(tensor.type)) {
    return no_counterpart("its input " + std::to_string(i) + " (" + tensor.name + ") must be constant floats");
  }
  COT_TRY(need_rank(i, order.size()));
  const std::vector<float> from = reals_of(tensor);
  HostTensor to;
  to.shape = shape.empty() ? permuted(tensor.shape, order) : std::move(shape);
  for (const uint64_t source : permuted_indices(tensor.shape, order)) to.reals.push_back(from[source]);
  const std::string name = constant_name(tensor.name);
  graph_.constants[name] = {std::move(to), false};
  return name;
}

std::string NodeMaker::uniform(const std::string& part, int64_t size, float value) {
  HostTensor tensor;
  tensor.shape = {size};
  tensor.reals.assign(static_cast<size_t>(size), value);
  const std::string name = own_name(base_name() + "." + part);
  graph_.constants[name] = {std::move(tensor), true};
  return name;
}

std::string NodeMaker::turned(const std::string& value, size_t rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return node("Transpose", {value}, {{"perm", perm}});
}

Status NodeMaker::define(const std::string& value, size_t i) {
  std::string made = value;
  if (op_->op != MsliteOp::activation) {  // that one's is the node itself
    if (attributes().activation == MsliteActivation::relu) made = node("Relu", {value});
    if (attributes().activation == MsliteActivation::relu6) made = clipped(value, 0, 6);
  }
  read_as_[op_->outputs[i]] = made;
  return {};
}

}  // namespace coterie::model_import
