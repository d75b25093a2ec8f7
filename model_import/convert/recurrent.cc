// LSTM, GRU and RNN: one op a direction. ONNX has W [directions, gates h, i], R [directions, gates h, h],
// B [directions, 2 gates h] with gates i o f c (LSTM) and z r h (GRU); a model has w [i, gates h] and r [h,
// gates h] with gates i f g o and r z n.
#include <algorithm>
#include <array>

#include "model_import/convert/convert.h"
#include "model_import/graph/gates.h"

namespace coterie::model_import {
namespace {

Result<std::span<const float>> floats_of(Context& context, const Node& node, size_t i, const Shape& shape) {
  COT_ASSIGN(const HostTensor* tensor, context.host(node, i));
  if (tensor->element != Element::real || tensor->is_uniform || tensor->shape != shape) {
    return unsupported(node, "its operand " + std::to_string(i) + " has the wrong shape");
  }
  return std::span<const float>(tensor->reals);
}

constexpr std::string_view kWeight = "weight_ih", kBias = "bias_ih";

struct Layer {
  const Node& node;
  RecurrentCell cell;
  int64_t steps, batch, inputs, hidden, directions;
  RnnAttributes attributes;
  std::string scope;
  size_t number;  // which layer of its scope
};

// "lstm.weight_hh_l1_reverse", as PyTorch has it. Its exporter loses the name: it is made of the module's, and each
// node of a module is a layer. Where W's own name says weight_ih, as after an export of ours, the others follow it.
std::string parameter_name(Context& context, const Layer& layer, const std::string& part, const char* suffix) {
  const std::string& weight = context.in(layer.node, 1).initializer;
  if (const size_t at = weight.rfind(kWeight); at != std::string::npos) {
    return std::string(weight).replace(at, kWeight.size(), part) + suffix;
  }
  return layer.scope + "." + part + "_l" + std::to_string(layer.number) + suffix;
}

// PyTorch's layers have two biases, and the sum of two moves twice as far in a step as one does. A layer with one, as
// Keras's, is written with zeros for the other, under a name of its own.
bool has_one_bias(const Layer& layer, const Value& bias, std::span<const float> recurrent) {
  return layer.cell.kind != OpKind::gru && !is_made_up(bias.initializer) &&
         bias.initializer.find(kBias) == std::string::npos &&
         std::ranges::all_of(recurrent, [](float v) { return v == 0; });
}

// The initial state [directions, batch, hidden] of one direction; absent where it is known to be zero.
Result<TensorIndex> state_of(Context& context, const Layer& layer, size_t i, int64_t direction) {
  if (!layer.node.has_input(i)) return kNoTensor;
  Value& value = context.in(layer.node, i);
  const HostTensor* host = value.host;
  if (host != nullptr && std::ranges::all_of(host->reals, [](float v) { return v == 0; }) &&
      host->element == Element::real) {
    return kNoTensor;
  }
  const Shape whole{layer.directions, layer.batch, layer.hidden};
  if (value.shape != whole) return unsupported(layer.node, "its initial state must be [directions, batch, hidden]");
  TensorIndex tensor = context.plain(value);
  const Shape one{1, layer.batch, layer.hidden};
  if (layer.directions > 1) {
    tensor = context.writer.op(OpKind::slice, name_of(layer.node) + ".state", {tensor},
                               SliceAttributes{{0}, {direction}, {1}, {1}}, one);
  }
  return context.writer.reshape(tensor, {layer.batch, layer.hidden});
}

Result<std::vector<TensorIndex>> add_direction(Context& context, const Layer& layer, int64_t direction, TensorIndex x) {
  const Node& node = layer.node;
  const auto hidden = static_cast<size_t>(layer.hidden), inputs = static_cast<size_t>(layer.inputs);
  const auto gates = static_cast<int64_t>(layer.cell.gates.size());
  const int64_t width = gates * layer.hidden;
  const char* const suffix = direction == 0 ? "" : "_reverse";
  COT_ASSIGN(const auto w, floats_of(context, node, 1, {layer.directions, width, layer.inputs}));
  COT_ASSIGN(const auto r, floats_of(context, node, 2, {layer.directions, width, layer.hidden}));
  const auto part = [&](std::span<const float> all) {
    const size_t size = all.size() / static_cast<size_t>(layer.directions);
    return all.subspan(static_cast<size_t>(direction) * size, size);
  };
  const auto add = [&](size_t i, const std::string& part_name, Shape shape, std::span<const float> values) {
    return context.part_parameter(context.in(node, i), part_name + suffix,
                                  parameter_name(context, layer, part_name, suffix), std::move(shape), values);
  };
  std::vector<uint32_t> operands{x};
  operands.push_back(add(1, "weight_ih", {layer.inputs, width}, gates_last(part(w), layer.cell, hidden, inputs)));
  operands.push_back(add(2, "weight_hh", {layer.hidden, width}, gates_last(part(r), layer.cell, hidden, hidden)));
  TensorIndex recurrent_bias = kNoTensor;
  if (node.has_input(3)) {
    COT_ASSIGN(const auto b, floats_of(context, node, 3, {layer.directions, 2 * width}));
    const size_t size = static_cast<size_t>(width);
    const bool is_one = has_one_bias(layer, context.in(node, 3), part(b).last(size));
    const auto half = [&](const char* name, std::span<const float> values) {
      return add(3, name, {width}, gates_last(values, layer.cell, hidden, 1));
    };
    operands.push_back(half(is_one ? "bias" : "bias_ih", part(b).first(size)));
    if (!is_one) recurrent_bias = half("bias_hh", part(b).last(size));
  } else {
    operands.push_back(kNoTensor);
  }
  for (size_t state = 0; state < layer.cell.states; ++state) {
    COT_ASSIGN(const TensorIndex initial, state_of(context, layer, 5 + state, direction));
    operands.push_back(initial);
  }
  operands.push_back(recurrent_bias);
  while (operands.back() == kNoTensor) operands.pop_back();
  RnnAttributes attributes = layer.attributes;
  attributes.is_reverse = direction == 1 || node.text("direction", "forward") == "reverse";
  std::vector<Shape> shapes{{layer.steps, layer.batch, layer.hidden}};
  shapes.resize(1 + layer.cell.states, {layer.batch, layer.hidden});
  return context.writer.ops(layer.cell.kind, name_of(node) + suffix, std::move(operands), attributes,
                            std::move(shapes));
}

Status check_form(Context& context, const Node& node, Layer& layer) {
  if (node.has_input(4)) {
    COT_ASSIGN(const HostTensor* lengths, context.host(node, 4));
    const bool is_full = std::ranges::all_of(lengths->integers, [&](Integer n) {
      return n == Integer{layer.steps, false};
    });
    if (lengths->element == Element::real || !is_full)
      return unsupported(node, "sequence_lens: all sequences must have the full length");
  }
  if (node.has_input(7)) return unsupported(node, "peepholes");
  if (node.integer("layout", 0) != 0) return unsupported(node, "layout 1: transpose its input");
  if (node.integer("input_forget", 0) != 0 || node.attributes.contains("clip"))
    return unsupported(node, "input_forget and clip");
  const auto named = node.attributes.find("activations");
  if (named != node.attributes.end()) {
    const auto* activations = std::get_if<std::vector<std::string>>(&named->second);
    const std::vector<std::string> usual = node.op == "LSTM"  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                           : node.op == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                              : std::vector<std::string>{"Tanh"};
    for (size_t i = 0; activations != nullptr && i < activations->size(); ++i) {
      const std::string& name = (*activations)[i];
      if (node.op == "RNN" && i == 0 && name == "Relu") layer.attributes.is_relu = true;
      // The second direction of an RNN computes as the first.
      else if (name != (layer.attributes.is_relu ? "Relu" : usual[i % usual.size()]))
        return unsupported(node, "activation " + name);
    }
  }
  layer.attributes.reset_after = node.op != "GRU" || node.integer("linear_before_reset", 0) != 0;
  return {};
}

// The outputs of both directions side by side, dimension `axis` counting them.
TensorIndex joined(Context& context, const Node& node, const std::vector<TensorIndex>& parts, size_t axis) {
  Shape one = context.writer.shape(parts[0]);
  one.insert(one.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  std::vector<uint32_t> lifted;
  for (const TensorIndex part : parts) lifted.push_back(context.writer.reshape(part, one));
  if (lifted.size() == 1) return lifted[0];
  Shape both = one;
  both[axis] = 2;
  return context.writer.op(OpKind::concat, name_of(node) + ".directions", lifted,
                           AxisAttributes{static_cast<uint32_t>(axis)}, both);
}

Status convert_recurrent(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  if (x.rank() != 3 || !node.has_input(1) || !node.has_input(2))
    return Error(ErrorCode::malformed, node.what() + ": needs X [steps, batch, inputs], W and R");
  const Value& r = context.in(node, 2);
  if (r.rank() != 3) return Error(ErrorCode::malformed, node.what() + ": R must have three dimensions");
  if (x.shape[0] < 0 || x.shape[2] < 0) return unsupported(node, "the batch must be the second dimension of its input");
  Layer layer{node,
              recurrent_cell(node.op),
              x.shape[0],
              x.shape[1],
              x.shape[2],
              r.shape[2],
              node.text("direction", "forward") == "bidirectional" ? 2 : 1,
              {},
              scope_of(node),
              context.next_layer(scope_of(node))};
  layer.attributes.hidden = static_cast<uint32_t>(layer.hidden);
  COT_TRY(check_form(context, node, layer));
  const TensorIndex operand = context.plain(x);
  std::vector<std::vector<TensorIndex>> outputs(1 + layer.cell.states);
  for (int64_t direction = 0; direction < layer.directions; ++direction) {
    COT_ASSIGN(const std::vector<TensorIndex> made, add_direction(context, layer, direction, operand));
    for (size_t i = 0; i < made.size(); ++i) outputs[i].push_back(made[i]);
  }
  // Y is [steps, directions, batch, hidden] in ONNX and lies as [steps, batch, directions, hidden].
  if (node.has_output(0)) context.define(node, 0, joined(context, node, outputs[0], 2), {0, 2, 1, 3});
  for (size_t i = 1; i < outputs.size(); ++i) {
    if (node.has_output(i)) context.define(node, i, joined(context, node, outputs[i], 0));
  }
  return {};
}

}  // namespace

Converter recurrent_converter(const std::string& op) {
  return op == "LSTM" || op == "GRU" || op == "RNN" ? convert_recurrent : nullptr;
}

}  // namespace coterie::model_import
