#include "model_import/tflite/graph_maker.h"

#include <algorithm>

namespace coterie::model_import {
namespace {

// The part of a long name that a person knows: converters join the names of all that they have fused.
std::string first_of(const std::string& name) { return name.substr(0, name.find(';')); }

}  // namespace

TfliteForm form_of(const TfliteModel& model) {
  TfliteForm form = TfliteForm::real;
  for (const TfliteOperator& op : model.operators) {
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const int32_t i : *list) {
        if (i == kNoOperand || model.tensor(i).is_constant() || !model.tensor(i).grid.is_given()) continue;
        const TfliteType type = model.tensor(i).type;
        if (type == TfliteType::int16) return TfliteForm::int16;
        if (type == TfliteType::int8 || type == TfliteType::uint8) form = TfliteForm::int8;
      }
    }
  }
  return form;
}

Result<Graph> make_graph(const TfliteModel& model, TfliteNumbers numbers) { return GraphMaker(model, numbers).run(); }

Result<Graph> GraphMaker::run() {
  graph_.name = model_.name;
  for (const TfliteTensor& tensor : model_.tensors) keep_name(tensor.name);
  set_base_name("input");
  define_inputs();
  for (size_t i = 0; i < model_.operators.size(); ++i) {
    op_ = &model_.operators[i];
    set_base_name(first_of(output().name));
    if (op_->op == TfliteOp::dequantize && input(0).is_constant()) widened_[op_->outputs[0]] = op_->inputs[0];
    bool is_made = false;
    for (auto* const family : {make_layer, make_elementwise, make_movement, make_recurrent}) {
      Result<bool> made = family(*this);
      if (!made) return made.error().with_context(what_of(model_, i));
      is_made = is_made || *made;
      if (is_made) break;
    }
    if (!is_made) return Error(ErrorCode::invalid_argument, what_of(model_, i) + " is not supported");
  }
  define_outputs();
  COT_TRY(sort_nodes(graph_));
  return std::move(graph_);
}

void GraphMaker::define_inputs() {
  for (const int32_t i : model_.inputs) {
    const TfliteTensor& tensor = model_.tensor(i);
    const bool is_quantised = is_narrow(tensor.type) && tensor.grid.is_given();
    GraphValue value{
        .name = tensor.name, .element = is_quantised ? Element::real : element_of(tensor.type), .shape = {}};
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      // The batch is what the file shows, as its reshapes are made for that.
      if (d != 0 && tensor.open[d])
        value.shape.push_back({.value = 0, .symbol = tensor.name + "." + std::to_string(d)});
      else value.shape.push_back({.value = tensor.shape[d], .symbol = {}});
    }
    graph_.inputs.push_back(std::move(value));
    read_as_[i] = is_on_grid(tensor) ? on_grid(tensor.name, tensor) : tensor.name;
  }
}

void GraphMaker::define_outputs() {
  for (const int32_t i : model_.outputs) {
    const TfliteTensor& tensor = model_.tensor(i);
    node("Identity", {read_as_.at(i)}, {}, tensor.name);
    graph_.outputs.push_back({.name = tensor.name, .element = Element::real, .shape = {}});
  }
}

Status GraphMaker::need_inputs(size_t at_least) const {
  for (size_t i = 0; i < at_least; ++i) {
    if (op_->has(i)) continue;
    return Error(ErrorCode::malformed, "it needs " + std::to_string(at_least) + " inputs");
  }
  return {};
}

Status GraphMaker::need_rank(size_t i, size_t rank) const {
  if (input(i).shape.size() == rank) return {};
  return Error(ErrorCode::malformed, "its input " + std::to_string(i) + " must have " + std::to_string(rank) +
                                         " dimensions, has " + std::to_string(input(i).shape.size()));
}

Result<std::vector<int64_t>> GraphMaker::whole_numbers(size_t i) const {
  if (!input(i).is_constant() || is_real(input(i).type)) {
    return Error(ErrorCode::invalid_argument,
                 "its input " + std::to_string(i) + " (" + input(i).name + ") must be constant whole numbers");
  }
  std::vector<int64_t> numbers = integers_of(input(i));
  for (const int64_t number : numbers) {
    if (number < INT32_MIN || number > INT32_MAX) {
      return Error(ErrorCode::malformed, "its input " + std::to_string(i) + " holds a number that leaves 32 bits");
    }
  }
  return numbers;
}

std::string GraphMaker::parameter(const std::string& part, HostTensor tensor) {
  std::string name = base_name() + "." + part;
  if (graph_.constants.contains(name) || is_kept(name)) name = own_name(name);
  graph_.constants[name] = {std::move(tensor), false};
  return name;
}

std::string GraphMaker::activated(const std::string& value) {
  switch (op_->options.activation) {
    case TfliteActivation::none: return value;
    case TfliteActivation::relu: return node("Relu", {value});
    case TfliteActivation::relu_n1_to_1: return clipped(value, -1, 1);
    case TfliteActivation::relu6: return clipped(value, 0, 6);
    case TfliteActivation::tanh: return node("Tanh", {value});
  }
  return value;
}

// Whether nothing but the end of the graph, or a DEQUANTIZE there, reads the tensor.
bool GraphMaker::ends_graph(int32_t tensor) const {
  for (const TfliteOperator& op : model_.operators) {
    if (std::ranges::find(op.inputs, tensor) == op.inputs.end()) continue;
    if (op.op != TfliteOp::dequantize) return false;
    if (std::ranges::find(model_.outputs, op.outputs[0]) == model_.outputs.end()) return false;
  }
  return true;
}

Status GraphMaker::define(const std::string& value, size_t i) {
  const TfliteTensor& tensor = output(i);
  const bool is_cell = op_->op == TfliteOp::unidirectional_sequence_lstm;  // its activation is inside
  const std::string made = is_cell ? value : activated(value);
  const bool is_answer = (op_->op == TfliteOp::softmax || op_->op == TfliteOp::logistic) && ends_graph(op_->outputs[i]);
  if (is_on_grid(tensor) && tensor.grid.scales.size() != 1) {
    return Error(ErrorCode::invalid_argument, "its output has a grid by channel");
  }
  read_as_[op_->outputs[i]] = is_on_grid(tensor) && !is_answer ? on_grid(made, tensor) : made;
  return {};
}

}  // namespace coterie::model_import
