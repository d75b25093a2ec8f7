#include "model_import/interpret/interpret.h"

#include <algorithm>

#include "model_import/interpret/observe.h"
#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// Null: none of those that take operands of every form.
Operator forms_operator_of(const std::string& op) {
  for (const auto family : {sequence_operator, optional_operator, control_operator, text_operator}) {
    if (const Operator found = family(op)) return found;
  }
  return nullptr;
}

Operator operator_of(const std::string& op) {
  for (const auto family : {unary_operator,       binary_operator,      reduce_operator,   matrix_operator,
                            convolution_operator, pool_operator,        resize_operator,   norm_operator,
                            shape_operator,       data_operator,        fill_operator,     recurrent_operator,
                            image_block_operator, index_operator,       quantise_operator, integer_product_operator,
                            special_operator,     bits_operator,        scatter_operator,  select_operator,
                            detection_operator,   grid_sample_operator, einsum_operator,   signal_operator,
                            loss_operator,        unpool_operator,      n_gram_operator,   roi_operator,
                            training_operator}) {
    if (const Operator found = family(op)) return found;
  }
  return nullptr;
}

// The nodes that the wanted values need, in the graph's order.
std::vector<const Node*> needed_nodes(const Graph& graph, const std::set<std::string>& wanted) {
  std::set<std::string> needed = wanted;
  std::vector<const Node*> nodes;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool is_needed = std::ranges::any_of(
        node->outputs, [&](const std::string& name) { return !name.empty() && needed.contains(name); });
    if (!is_needed) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    needed.insert(node->captures.begin(), node->captures.end());
    nodes.push_back(&*node);
  }
  std::ranges::reverse(nodes);
  return nodes;
}

// Values go when their last reader has run: a deep network's would not fit otherwise.
std::map<std::string, size_t> last_readers(const std::vector<const Node*>& nodes) {
  std::map<std::string, size_t> last;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i]->inputs) last[name] = i;
    for (const std::string& name : nodes[i]->captures) last[name] = i;
    for (const std::string& name : nodes[i]->outputs) last.try_emplace(name, i);
  }
  return last;
}

// The number that is left in so many bits.
void wrap_around(Array& array) {
  if (array.element != Element::integer || array.width == Width::any) return;
  for (double& value : array.values) {
    const auto bits = static_cast<uint64_t>(whole(value));
    switch (array.width) {
      case Width::int8: value = static_cast<double>(static_cast<int8_t>(bits)); break;
      case Width::uint8: value = static_cast<double>(static_cast<uint8_t>(bits)); break;
      case Width::int32: value = static_cast<double>(static_cast<int32_t>(bits)); break;
      default: break;
    }
  }
}

// As the specification has it: integers wrap around, and floats are rounded to float32.
void finish(Array& array, Intent intent) {
  for (Array& item : array.items) finish(item, intent);
  wrap_around(array);
  if (intent == Intent::prediction || array.element != Element::real) return;
  for (double& value : array.values) value = static_cast<double>(static_cast<float>(value));
}

// Operands of one type T make a result of it (ONNX): a graph in float16 rounds behind each of its nodes. A cast, and
// what hands its operand's width on, have said theirs.
void keep_half(const Call& call, Array& output) {
  if (output.form != Form::tensor || output.element != Element::real) return;
  const auto is_half = [](const Array* operand) {
    return operand != nullptr && operand->element == Element::real && operand->width == Width::float16;
  };
  if (output.width == Width::any && std::ranges::any_of(call.operands, is_half)) output.width = Width::float16;
  if (output.width == Width::float16) become_real(output, Width::float16, call.intent);
}

uint64_t work_of(const Array& array) {
  constexpr uint64_t kElementsOfItem = 64;
  uint64_t elements = array.values.size() + array.texts.size();
  for (const Array& item : array.items) elements += kElementsOfItem + work_of(item);
  return elements;
}

Status charge(uint64_t& work_left, uint64_t units, uint64_t elements) {
  constexpr uint64_t kElementsOfUnit = 4096;
  const uint64_t work = units + elements / kElementsOfUnit;
  if (work > work_left) return Error(ErrorCode::too_large, "the graph computes more than the interpreter does");
  work_left -= work;
  return {};
}

// What the nodes of a graph read: what was made before them, and what lies around the graph. Constants are apart.
struct Values {
  Arrays own;
  Captures around;

  // Null: neither has it.
  const Array* find(const std::string& name) const {
    if (const auto made = own.find(name); made != own.end()) return &made->second;
    const auto captured = around.find(name);
    return captured == around.end() ? nullptr : captured->second;
  }
};

Result<Array> constant_of(const Graph& graph, const std::string& name) {
  const auto constant = graph.constants.find(name);
  if (constant == graph.constants.end()) return Error(ErrorCode::invalid_argument, "no node computes " + name);
  auto array = array_of(constant->second.tensor);
  if (!array) return array.error().with_context(name);
  return array;
}

// Whether the operator reads no more of its operands than it makes: a body may ask it of a large tensor at will.
bool reads_little(const std::string& op) { return op == "Gather" || op == "Shape" || op == "Size"; }

Status fits_forms(const Call& call) {
  COT_TRY(needs_operands(call, 1));
  for (const Array* operand : call.operands) {
    if (operand != nullptr && operand->form != Form::tensor) return bad_form("an operand that is no tensor of numbers");
  }
  return {};
}

Result<Outputs> computed(const Graph& graph, const Node& node, const Values& values, Intent intent,
                         uint64_t& work_left) {
  const Operator forms_function = forms_operator_of(node.op);
  const Operator function = forms_function != nullptr ? forms_function : operator_of(node.op);
  if (function == nullptr)
    return Error(ErrorCode::invalid_argument, "the interpreter does not know operator " + node.op);
  Call call{node, graph.opset, {}, intent, nullptr, &work_left};
  // Constants become arrays for this node alone.
  std::vector<Array> constants;
  constants.reserve(node.inputs.size() + node.captures.size());
  const auto constant = [&](const std::string& name) -> Result<const Array*> {
    COT_ASSIGN(Array array, constant_of(graph, name));
    COT_TRY(charge(work_left, 0, work_of(array)));
    constants.push_back(std::move(array));
    return &constants.back();
  };
  for (const std::string& name : node.inputs) {
    const Array* value = name.empty() ? nullptr : values.find(name);
    if (!name.empty() && value == nullptr) {
      if (!graph.constants.contains(name)) return Error(ErrorCode::malformed, "nothing computes its operand " + name);
      COT_ASSIGN(value, constant(name));
    }
    if (values.around.contains(name) && !reads_little(node.op)) COT_TRY(charge(work_left, 0, work_of(*value)));
    call.operands.push_back(value);
  }
  Captures captures;
  for (const std::string& name : node.captures) {
    const Array* value = values.find(name);
    if (value == nullptr) {
      COT_ASSIGN(value, constant(name));
    }
    captures[name] = value;
  }
  call.captures = &captures;
  if (forms_function == nullptr) COT_TRY(fits_forms(call));
  COT_ASSIGN(Outputs outputs, function(call));
  uint64_t elements = 0;
  for (Array& output : outputs) {
    keep_half(call, output);
    finish(output, intent);
    elements += work_of(output);
  }
  COT_TRY(charge(work_left, 1, elements));
  return outputs;
}

Result<Arrays> interpreted(const Graph& graph, Values values, const std::set<std::string>& wanted, Intent intent,
                           uint64_t& work_left, const Observer& observer = {}) {
  const std::vector<const Node*> nodes = needed_nodes(graph, wanted);
  const std::map<std::string, size_t> last = last_readers(nodes);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    auto outputs = computed(graph, node, values, intent, work_left);
    if (!outputs) return outputs.error().with_context(node.what());
    for (size_t k = 0; k < std::min(node.outputs.size(), outputs->size()); ++k) {
      if (node.outputs[k].empty()) continue;
      if (observer) COT_TRY(observer(node, k, (*outputs)[k]));
      values.own[node.outputs[k]] = std::move((*outputs)[k]);
    }
    const auto forget = [&](const std::string& name) {
      if (last.at(name) == i && !wanted.contains(name)) values.own.erase(name);
    };
    std::ranges::for_each(node.inputs, forget);
    std::ranges::for_each(node.captures, forget);
    std::ranges::for_each(node.outputs, forget);
  }
  Arrays result;
  for (const std::string& name : wanted) {
    if (const Array* value = values.find(name)) {
      result[name] = *value;
    } else {
      COT_ASSIGN(result[name], constant_of(graph, name));
    }
  }
  return result;
}

}  // namespace

Result<Arrays> interpret(const Graph& graph, const Arrays& inputs, const std::set<std::string>& wanted, Intent intent) {
  uint64_t work_left = kWorkMax;
  return interpreted(graph, {inputs, {}}, wanted, intent, work_left);
}

Status interpret_observed(const Graph& graph, const Arrays& inputs, Intent intent, const Observer& observer) {
  uint64_t work_left = kWorkMax;
  std::set<std::string> wanted;
  for (const GraphValue& output : graph.outputs) wanted.insert(output.name);
  COT_TRY(interpreted(graph, {inputs, {}}, wanted, intent, work_left, observer));
  return {};
}

Result<Outputs> run_body(const Call& call, const Graph& body, std::vector<Array> inputs) {
  if (inputs.size() != body.inputs.size()) {
    return bad_form("a body of " + std::to_string(body.inputs.size()) + " inputs that is given " +
                    std::to_string(inputs.size()));
  }
  // What each run is given is its own, and its nodes are looked through: a body that makes next to nothing would do so
  // as often as it likes. What it captures is read where it lies.
  constexpr uint64_t kElementsOfNode = 64;
  uint64_t elements = kElementsOfNode * body.nodes.size();
  for (const Array& input : inputs) elements += work_of(input);
  COT_TRY(charge(*call.work_left, kWorkOfRun, elements));
  Values values;
  for (const std::string& name : body.captures) values.around[name] = call.captures->at(name);
  for (size_t i = 0; i < inputs.size(); ++i) values.own[body.inputs[i].name] = std::move(inputs[i]);
  std::set<std::string> wanted;
  for (const GraphValue& output : body.outputs) wanted.insert(output.name);
  COT_ASSIGN(const Arrays made, interpreted(body, std::move(values), wanted, call.intent, *call.work_left));
  Outputs outputs;
  for (const GraphValue& output : body.outputs) outputs.push_back(made.at(output.name));
  return outputs;
}

Status charge_elements(const Call& call, uint64_t elements) { return charge(*call.work_left, 0, elements); }

bool is_interpreted(const std::string& op) { return forms_operator_of(op) != nullptr || operator_of(op) != nullptr; }

}  // namespace coterie::model_import
