#include "model_import/convert/import_graph.h"

#include <algorithm>
#include <set>

#include "base/text/name_pattern.h"
#include "model_import/convert/convert.h"
#include "model_import/convert/operators.h"
#include "model_import/convert/recurrent_tables.h"
#include "model_import/fold/fold.h"
#include "model_import/patterns/patterns.h"
#include "proto/codec/limits.h"
#include "proto/messages/model_outputs.h"

namespace coterie::model_import {
namespace {

constexpr size_t kNodesNamed = 3;  // of each unknown operator

// Gives every named dimension its size and drops all nodes that the output does not need.
Status bind_dimensions(Graph& graph, const ImportOptions& options) {
  std::set<std::string> open;
  for (GraphValue& input : graph.inputs) {
    if (input.form != Form::tensor)
      return Error(ErrorCode::invalid_argument, "input " + input.name + " is not a tensor of numbers");
    if (input.shape.empty())
      return Error(ErrorCode::invalid_argument,
                   "input " + input.name + " has no dimensions: the first must be the batch");
    for (size_t i = 1; i < input.shape.size(); ++i) {
      Dimension& dimension = input.shape[i];
      const auto bound = options.dimensions.find(dimension.symbol);
      if (dimension.value != 0) continue;
      if (bound == options.dimensions.end()) open.insert(dimension.symbol);
      else if (bound->second < 1 || bound->second > limits::kModelDimensionMax) {
        return Error(ErrorCode::invalid_argument,
                     "dimension " + bound->first + " must be at least 1, is " + std::to_string(bound->second));
      } else dimension.value = bound->second;
    }
  }
  if (open.empty()) return {};
  std::string names;
  for (const std::string& name : open) names += (names.empty() ? "" : ", ") + name;
  return Error(ErrorCode::invalid_argument,
               "the size of these dimensions is open and must be given (--dim name=size): " + names);
}

void keep_needed(Graph& graph) {
  std::set<std::string> needed;
  for (const GraphValue& output : graph.outputs) needed.insert(output.name);
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (std::ranges::none_of(node->outputs, [&](const std::string& name) { return needed.contains(name); })) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
}

Status check_operators(const Graph& graph) {
  std::map<std::string, std::vector<std::string>> unknown;
  for (const Node& node : graph.nodes) {
    if (!is_imported(node.op))
      unknown[node.op].push_back(node.name.empty() ? node.outputs.empty() ? "" : node.outputs[0] : node.name);
  }
  if (unknown.empty()) return {};
  std::string text = "the model uses operators that are not supported:";
  for (const auto& [op, nodes] : unknown) {
    text += " " + op + " (";
    for (size_t i = 0; i < std::min(nodes.size(), kNodesNamed); ++i) text += (i == 0 ? "" : ", ") + nodes[i];
    if (nodes.size() > kNodesNamed) text += " and " + std::to_string(nodes.size() - kNodesNamed) + " more";
    const std::string nearest = nearest_form(op);
    text += nearest.empty() ? ");" : "; instead: " + nearest + ");";
  }
  text.pop_back();
  return Error(ErrorCode::invalid_argument, text);
}

// Whether image operators read the value, themselves or behind operators that leave the order as it is.
bool feeds_images(const Graph& graph, const std::string& input) {
  std::set<std::string> reached{input};
  for (const Node& node : graph.nodes) {
    if (node.inputs.empty() ||
        !std::ranges::any_of(node.inputs, [&](const std::string& name) { return reached.contains(name); }))
      continue;
    if (is_image_op(node.op) && reached.contains(node.inputs[0])) return true;
    if (keeps_order(node.op)) reached.insert(node.outputs.begin(), node.outputs.end());
  }
  return false;
}

Status define_inputs(Context& context, const Graph& graph) {
  std::string layouts;
  bool has_images = false;
  for (const GraphValue& input : graph.inputs) {
    if (input.shape[0].value != 0 && context.exported_batch != 0 && input.shape[0].value != context.exported_batch) {
      return Error(ErrorCode::invalid_argument, "input " + input.name + " is for a batch of " +
                                                    std::to_string(input.shape[0].value) + ", another one for " +
                                                    std::to_string(context.exported_batch) +
                                                    ": the first dimension of every input must be the batch");
    }
    if (input.shape[0].value != 0) context.exported_batch = input.shape[0].value;
    Shape shape{-1};
    for (size_t i = 1; i < input.shape.size(); ++i) shape.push_back(input.shape[i].value);
    const bool is_image = shape.size() == 4 && feeds_images(graph, input.name);
    const Order order = is_image ? image_order(4) : identity_order(shape.size());
    const Shape lying = permuted(shape, order);
    const TensorIndex tensor =
        context.writer.input(input.name, Shape(lying.begin() + 1, lying.end()), data_type(input.element));
    context.define_input(input.name, shape, input.element, tensor, order);
    layouts += std::string(layouts.empty() ? "" : ",") + (is_image ? "nhwc" : "plain");
    has_images = has_images || is_image;
  }
  if (has_images) context.writer.properties()["input_layout"] = layouts;
  return {};
}

// Whether the node only moves the elements of an initializer that nothing else reads: it becomes another
// initializer.
std::string carried_initializer(Context& context, const Node& node) {
  static const std::set<std::string> ops = {"Identity", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten"};
  if (!ops.contains(node.op) || !node.has_input(0)) return {};
  const Value& value = context.in(node, 0);
  return context.readers(value.name) == 1 ? value.initializer : std::string();
}

// True: the node's output is known now.
Result<bool> fold_node(Context& context, const Node& node, const std::set<std::string>& tables) {
  if ((node.op == "Shape" || node.op == "Size") && node.has_input(0)) {
    HostTensor shape = shape_as_tensor(node, context.in(node, 0).shape);
    if (node.op == "Size") {
      Node product{.op = "ReduceProd",
                   .name = node.name,
                   .inputs = {},
                   .outputs = node.outputs,
                   .attributes = {{"keepdims", int64_t{0}}}};
      COT_ASSIGN(std::optional<HostTensor> size, fold(product, {&shape}, context.graph().opset));
      shape = std::move(*size);
    }
    context.define_host(node.outputs[0], std::move(shape), {});
    return true;
  }
  if (node.outputs.size() != 1) return false;
  // PyTorch stores parameters that happen to be equal (all zeros, all ones) once and writes the others as
  // Identity under their own names. They are trained apart; parameters that a model really shares have no
  // Identity.
  if (node.op == "Identity" && context.in(node, 0).host != nullptr && !context.in(node, 0).initializer.empty()) {
    context.define_host(node.outputs[0], HostTensor(*context.in(node, 0).host), node.outputs[0]);
    return true;
  }
  const std::string carried = carried_initializer(context, node);
  Operands operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.has_input(i)) {
      operands.push_back(nullptr);
      continue;
    }
    const Value& value = context.in(node, i);
    const bool is_moved = !carried.empty() || tables.contains(node.outputs[0]);
    if (value.host == nullptr || (!is_moved && context.is_trained_operand(value)) || value.tensor != kNoTensor)
      return false;
    operands.push_back(value.host);
  }
  COT_ASSIGN(std::optional<HostTensor> result, fold(node, operands, context.graph().opset));
  if (!result) return false;
  context.define_host(node.outputs[0], std::move(*result), carried);
  return true;
}

Status check_node(Context& context, const Node& node) {
  // Some ask a recurrent operator for its last state alone.
  const bool may_leave_out = recurrent_converter(node.op) != nullptr;
  const bool has_output = std::ranges::any_of(node.outputs, [](const std::string& name) { return !name.empty(); });
  if (node.inputs.empty() || !has_output || (node.outputs[0].empty() && !may_leave_out)) {
    return Error(ErrorCode::malformed, node.what() + ": an operator without operand or without output");
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.has_input(i)) {
      if (i == 0) return Error(ErrorCode::malformed, node.what() + ": its first operand is missing");
      continue;
    }
    const Value& value = context.in(node, i);
    if (value.host != nullptr && value.host->stored() == 0 && node.op != "Resize" && node.op != "Concat" &&
        node.op != "ConstantOfShape" && node.op != "Gather") {
      return unsupported(node, "its operand " + std::to_string(i) + " has no elements");
    }
  }
  return {};
}

Status convert_node(Context& context, const Node& node, const std::set<std::string>& tables) {
  COT_TRY(check_node(context, node));
  context.begin(node);
  COT_ASSIGN(const bool is_folded, fold_node(context, node, tables));
  if (is_folded) return {};
  const Converter converter = converter_of(node.op);
  if (converter == nullptr) {
    return unsupported(node, "is only supported on values that are known when the model is converted");
  }
  COT_TRY(converter(context, node));
  if (context.failure()) return context.failure()->with_context(node.what());
  return {};
}

// The output as a file has it: images stay NHWC.
TensorIndex finished_output(Context& context, Value& value) {
  if (value.rank() == 4 && value.is_activation() && context.lying_order(value) == image_order(4) &&
      value.shape[2] * value.shape[3] != 1) {
    context.writer.properties()["output_layout"] = "nhwc";
    return context.image(value);
  }
  return context.plain(value);
}

Result<TensorIndex> output_tensor(Context& context, const std::string& name, bool is_own) {
  Value* value = context.find(name);
  if (value == nullptr || !value->is_activation())
    return Error(ErrorCode::invalid_argument, "the output " + name + " does not depend on the input");
  TensorIndex tensor = is_own ? finished_output(context, *value) : context.plain(*value);
  if (context.failure()) return *context.failure();
  if (!context.writer.is_op_output(tensor)) {
    tensor = context.writer.op(OpKind::identity, is_own ? "output" : name, {tensor}, {},
                               Shape(context.writer.shape(tensor)), context.writer.type(tensor));
  }
  return tensor;
}

// The model's own, then those beside it; what is left out is noted.
Result<std::vector<GraphValue>> chosen_outputs(const Graph& graph, const ImportOptions& options,
                                               std::vector<std::string>& notes) {
  if (graph.outputs.empty()) return Error(ErrorCode::malformed, "the model has no output");
  const std::string own = options.output.empty() ? graph.outputs[0].name : options.output;
  std::vector<GraphValue> outputs;
  std::vector<bool> is_matched(options.further_outputs.size());
  std::string left_out, others;
  for (const GraphValue& output : graph.outputs) {
    const GraphValue chosen{.name = output.name, .element = Element::real, .shape = {}};
    if (output.name == own) {
      outputs.insert(outputs.begin(), chosen);
      continue;
    }
    bool is_asked_for = false;
    for (size_t i = 0; i < is_matched.size(); ++i) {
      if (!name_matches(options.further_outputs[i], output.name)) continue;
      is_asked_for = is_matched[i] = true;
    }
    others += (others.empty() ? "" : ", ") + output.name;
    if (is_asked_for) outputs.push_back(chosen);
    else left_out += (left_out.empty() ? "" : ", ") + output.name;
  }
  if (outputs.empty() || outputs[0].name != own) {
    return Error(ErrorCode::invalid_argument, "the model has no output " + own + "; it has " + others);
  }
  for (size_t i = 0; i < is_matched.size(); ++i) {
    if (is_matched[i]) continue;
    return Error(ErrorCode::invalid_argument, "the model has no further output " + options.further_outputs[i] +
                                                  (others.empty() ? "" : "; it has " + others));
  }
  if (outputs.size() > kModelOutputsMax) {
    return Error(ErrorCode::invalid_argument,
                 std::to_string(outputs.size()) + " outputs, at most " + std::to_string(kModelOutputsMax));
  }
  if (left_out.empty()) return outputs;
  notes.push_back(outputs.size() == 1 ? "the model has one output, " + own + "; left out: " + left_out
                                      : "outputs that are left out: " + left_out);
  return outputs;
}

std::vector<std::string> names_of(const std::vector<GraphValue>& outputs) {
  std::vector<std::string> names;
  for (const GraphValue& output : outputs) names.push_back(output.name);
  return names;
}

}  // namespace

Result<ImportedModel> import_graph(Graph graph, const ImportOptions& options) {
  ImportedModel result;
  COT_ASSIGN(std::vector<GraphValue> outputs, chosen_outputs(graph, options, result.notes));
  COT_TRY(bind_dimensions(graph, options));
  graph.outputs = outputs;
  keep_needed(graph);
  COT_TRY(check_operators(graph));  // before there are operators that only patterns may make
  fuse_patterns(graph);
  keep_needed(graph);

  Context context(graph, {.constant = options.constant, .trainable = options.trainable});
  for (const GraphValue& output : outputs) context.count_reader(output.name);
  context.count_readers();
  for (const auto& [name, constant] : graph.constants) context.define_constant(name, constant);
  COT_TRY(define_inputs(context, graph));
  const std::set<std::string> tables = recurrent_tables(graph);
  for (const Node& node : graph.nodes) COT_TRY(convert_node(context, node, tables));
  std::vector<TensorIndex> tensors;
  for (const GraphValue& output : outputs) {
    COT_ASSIGN(const TensorIndex tensor, output_tensor(context, output.name, tensors.empty()));
    if (std::ranges::find(tensors, tensor) != tensors.end()) {
      return Error(ErrorCode::invalid_argument, "the output " + output.name + " is the same as another one");
    }
    tensors.push_back(tensor);
  }
  COT_TRY(context.check_patterns());
  for (const std::string& name : options.located) {
    const Value* const located = context.find(name);
    if (located != nullptr && located->is_activation()) result.tensors[name] = context.writer.name(located->tensor);
  }
  COT_ASSIGN(result.model, context.writer.finish(graph.name, tensors, names_of(outputs)));
  for (TableUse& use : context.uses()) {
    if (use.is_note) result.notes.push_back(use.text);
    result.roles.push_back(std::move(use.text));
  }
  return result;
}

}  // namespace coterie::model_import
