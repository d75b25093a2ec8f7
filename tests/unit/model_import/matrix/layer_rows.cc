// Convolutions, pools, norms and recurrent layers.
#include "tests/unit/model_import/matrix/operator_row.h"

namespace coterie::model_import::matrix {
namespace {

using List = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

Build convolution(const std::string& op, const Shape& weight, int64_t filters, const Attributes& attributes = {}) {
  return [=](RowGraph& g, const std::string& x) {
    std::vector<std::string> operands{x, g.weight("w", weight)};
    if (filters > 0) operands.push_back(g.weight("b", {filters}));
    return g.node(op, operands, attributes);
  };
}

Build pool(const std::string& op, const Attributes& attributes = {}) {
  return [=](RowGraph& g, const std::string& x) { return g.node(op, {x}, attributes); };
}

// Opset 11 and 12 ask for a region of interest, which may be empty.
Build resize(const std::vector<float>& scales, const List& sizes, const Attributes& attributes) {
  return [=](RowGraph& g, const std::string& x) {
    std::vector<std::string> operands{x, g.opset < 13 ? g.table({0}, {}) : ""};
    if (!scales.empty()) operands.push_back(g.table({4}, scales));
    if (scales.empty()) {
      // The batch is the input's own.
      const std::string batch = g.node("Slice", {g.node("Shape", {x}), g.list({0}), g.list({1}), g.list({0})});
      operands.push_back(g.opset < 13 ? g.table({0}, {}) : "");
      operands.push_back(g.node("Concat", {batch, g.list(sizes)}, {{"axis", int64_t{0}}}));
    }
    return g.node("Resize", operands, attributes);
  };
}

std::string channel_table(RowGraph& g, const char* name, int64_t channels, double low, double high) {
  return g.weight(name, {channels}, low, high);
}

std::string running(RowGraph& g, const std::vector<float>& values) {
  // State, which nothing trains: an initializer as scale and bias are.
  const std::string name = "running" + std::to_string(g.graph.constants.size());
  g.graph.constants[name] = {{.shape = {static_cast<int64_t>(values.size())}, .reals = values}, false};
  return name;
}

// Five outputs before opset 14 and three from there on, where training is said by an attribute.
std::string batch_norm(RowGraph& g, const std::string& x) {
  Attributes attributes = {{"epsilon", 1e-3f}, {"momentum", 0.8f}};
  if (g.is_training && g.opset >= 14) attributes["training_mode"] = int64_t{1};
  const std::string scale = channel_table(g, "scale", 2, 0.5, 1.5), bias = channel_table(g, "bias", 2, -0.5, 0.5);
  const size_t outputs = !g.is_training ? 1 : g.opset >= 14 ? 3 : 5;
  return g.node("BatchNormalization", {x, scale, bias, running(g, {0.1f, -0.2f}), running(g, {0.9f, 1.3f})}, attributes,
                outputs);
}

// (x - mean of the batch) / sqrt(variance of the batch + epsilon) scale + bias, in operators that are no norms.
Build batch_norm_by_hand(const List& axes, const Shape& channels) {
  return [=](RowGraph& g, const std::string& x) {
    const auto mean = [&](const std::string& of) { return g.node_with_list("ReduceMean", {of}, "axes", axes, 18); };
    // Under the names, and with the numbers, of the other form.
    const std::string scale = channel_table(g, "scale", 2, 0.5, 1.5), bias = channel_table(g, "bias", 2, -0.5, 0.5);
    const auto shaped = [&](const std::string& table) { return g.node("Reshape", {table, g.list(channels)}); };
    const std::string centred = g.node("Sub", {x, mean(x)});
    const std::string variance = mean(g.node("Mul", {centred, centred}));
    const std::string deviation = g.node("Sqrt", {g.node("Add", {variance, g.number(1e-3f)})});
    const std::string scaled = g.node("Mul", {g.node("Div", {centred, deviation}), shaped(scale)});
    return g.node("Add", {scaled, shaped(bias)});
  };
}

std::string instance_norm(RowGraph& g, const std::string& x) {
  const std::string scale = channel_table(g, "scale", 2, 0.5, 1.5);
  return g.node("InstanceNormalization", {x, scale, channel_table(g, "bias", 2, -0.5, 0.5)}, {{"epsilon", 1e-3f}});
}

// Opset 18 has scale and bias by group, opset 21 by channel, and says that the mean is computed in floats.
std::string group_norm(RowGraph& g, const std::string& x) {
  const int64_t parts = g.opset < 21 ? 2 : 4;
  const std::string scale = channel_table(g, "scale", parts, 0.5, 1.5);
  Attributes attributes = {{"num_groups", int64_t{2}}, {"epsilon", 1e-3f}};
  if (g.opset >= 21) attributes["stash_type"] = int64_t{1};
  return g.node("GroupNormalization", {x, scale, channel_table(g, "bias", parts, -0.5, 0.5)}, attributes);
}

Build layer_norm(int64_t axis, const Shape& normalised, bool has_bias, bool has_defaults = false) {
  return [=](RowGraph& g, const std::string& x) {
    std::vector<std::string> operands{x, g.weight("scale", normalised, 0.5, 1.5)};
    if (has_bias) operands.push_back(g.weight("bias", normalised));
    if (has_defaults) return g.node("LayerNormalization", operands);
    return g.node("LayerNormalization", operands, {{"axis", axis}, {"epsilon", 1e-3f}, {"stash_type", int64_t{1}}});
  };
}

struct Recurrent {
  int64_t gates, directions;
  bool has_bias = true;
  Attributes attributes = {};
  size_t output = 0;  // which is asked for
  bool has_state = false, has_lengths = false;
};

// An input of its own, [batch, hidden], as the state [directions, batch, hidden] to begin with.
std::string initial_state(RowGraph& g, const std::string& name, int64_t directions, int64_t hidden) {
  const std::string one = g.node_with_list("Unsqueeze", {g.input(name, {hidden})}, "axes", {0}, 13);
  return directions == 1 ? one : g.node("Concat", {one, g.node("Neg", {one})}, {{"axis", int64_t{0}}});
}

// x is [batch, steps, inputs]; the layer's Y is [steps, directions, batch, hidden]. The layout's edition changed in
// opset 14, by an attribute that is 0 here.
Build recurrent(const std::string& op, const Recurrent& r) {
  return [=](RowGraph& g, const std::string& x) {
    constexpr int64_t kSteps = 3, kInputs = 2, kHidden = 2;
    const int64_t rows = r.gates * kHidden;
    const std::string steps_first = g.node("Transpose", {x}, {{"perm", List{1, 0, 2}}});
    std::vector<std::string> operands{steps_first, g.weight("w", {r.directions, rows, kInputs}),
                                      g.weight("r", {r.directions, rows, kHidden})};
    operands.push_back(r.has_bias ? g.weight("b", {r.directions, 2 * rows}) : "");
    // As many as the batch that the matrix computes has: all of the full length.
    operands.push_back(r.has_lengths ? g.list({kSteps, kSteps, kSteps}) : "");
    if (r.has_state) operands.push_back(initial_state(g, "h", r.directions, kHidden));
    if (r.has_state && op == "LSTM") operands.push_back(initial_state(g, "c", r.directions, kHidden));
    while (operands.back().empty()) operands.pop_back();
    Attributes attributes = r.attributes;
    attributes["hidden_size"] = kHidden;
    if (g.opset >= 14) attributes["layout"] = int64_t{0};
    if (r.directions == 2) attributes["direction"] = std::string("bidirectional");
    const std::string y = g.node(op, operands, attributes, op == "LSTM" ? 3 : 2);
    if (r.output == 0) return g.node("Transpose", {y}, {{"perm", List{2, 0, 1, 3}}});
    return g.node("Transpose", {y + "." + std::to_string(r.output)}, {{"perm", List{1, 0, 2}}});
  };
}

}  // namespace

std::vector<OperatorRow> layer_rows() {
  const Shape kImage{2, 5, 4}, kSequence{2, 6};
  std::vector<OperatorRow> rows;
  rows.push_back({"Conv", "padded", kImage, convolution("Conv", {3, 2, 3, 3}, 3, {{"pads", List{1, 1, 1, 1}}})});
  rows.push_back({"Conv", "strides, dilations, no bias", kImage,
                  convolution("Conv", {3, 2, 2, 2}, 0, {{"strides", List{2, 1}}, {"dilations", List{2, 1}}})});
  rows.push_back({"Conv", "groups", kImage,
                  convolution("Conv", {4, 1, 2, 2}, 4, {{"group", int64_t{2}}, {"kernel_shape", List{2, 2}}})});
  rows.push_back({"Conv", "valid", kImage, convolution("Conv", {2, 2, 2, 2}, 2, {{"auto_pad", std::string("VALID")}})});
  rows.push_back({"Conv", "depthwise", kImage, convolution("Conv", {2, 1, 3, 3}, 2, {{"group", int64_t{2}}})});
  rows.push_back(
      {"Conv", "same, upper", kImage, convolution("Conv", {2, 2, 2, 2}, 2, {{"auto_pad", std::string("SAME_UPPER")}})});
  rows.push_back(
      {"Conv", "same, lower", kImage,
       convolution("Conv", {2, 2, 2, 2}, 2, {{"auto_pad", std::string("SAME_LOWER")}, {"strides", List{2, 2}}})});
  rows.push_back({"Conv", "sequence", kSequence, convolution("Conv", {3, 2, 3}, 3, {{"pads", List{1, 1}}})});
  rows.push_back({"ConvTranspose", "strides", kImage,
                  convolution("ConvTranspose", {2, 3, 3, 3}, 3,
                              {{"strides", List{2, 2}}, {"pads", List{1, 1, 1, 1}}, {"output_padding", List{1, 0}}})});
  rows.push_back({"ConvTranspose", "dilations", kImage,
                  convolution("ConvTranspose", {2, 3, 2, 2}, 0,
                              {{"dilations", List{2, 1}}, {"kernel_shape", List{2, 2}}, {"pads", List{0, 1, 1, 0}}})});
  rows.push_back(
      {"ConvTranspose", "groups", kImage, convolution("ConvTranspose", {2, 1, 2, 2}, 2, {{"group", int64_t{2}}})});
  rows.push_back(
      {"ConvTranspose", "sequence", kSequence, convolution("ConvTranspose", {2, 3, 3}, 3, {{"strides", List{2}}})});

  for (const char* op : {"MaxPool", "AveragePool"}) {
    rows.push_back({op, "strides", kImage, pool(op, {{"kernel_shape", List{2, 2}}, {"strides", List{2, 2}}})});
    rows.push_back({op, "padded", kImage, pool(op, {{"kernel_shape", List{3, 3}}, {"pads", List{1, 1, 1, 1}}})});
    rows.push_back({op, "up", kImage,
                    pool(op, {{"kernel_shape", List{2, 2}}, {"strides", List{2, 2}}, {"ceil_mode", int64_t{1}}})});
    rows.push_back(
        {op, "same", kImage, pool(op, {{"kernel_shape", List{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}})});
    rows.push_back(
        {op, "same, lower", kImage, pool(op, {{"kernel_shape", List{3, 2}}, {"auto_pad", std::string("SAME_LOWER")}})});
    rows.push_back({op, "up, padded", kImage,
                    pool(op, {{"kernel_shape", List{3, 3}},
                              {"strides", List{2, 3}},
                              {"pads", List{1, 1, 0, 1}},
                              {"ceil_mode", int64_t{1}}})});
    rows.push_back({op, "sequence", kSequence, pool(op, {{"kernel_shape", List{2}}, {"strides", List{2}}})});
    // Opset 10 has dilations for MaxPool, opset 19 for AveragePool.
    rows.push_back({op, "dilations of 1", kImage, pool(op, {{"kernel_shape", List{2, 2}}, {"dilations", List{1, 1}}}),
                    std::string(op) == "MaxPool" ? kOpsetMin : 19});
  }
  rows.push_back({"AveragePool", "counts padding", kImage,
                  pool("AveragePool",
                       {{"kernel_shape", List{3, 3}}, {"pads", List{1, 1, 1, 1}}, {"count_include_pad", int64_t{1}}})});
  rows.push_back({"AveragePool", "up, counts padding", kImage,
                  pool("AveragePool", {{"kernel_shape", List{3, 3}},
                                       {"strides", List{2, 3}},
                                       {"pads", List{1, 1, 0, 1}},
                                       {"ceil_mode", int64_t{1}},
                                       {"count_include_pad", int64_t{1}}})});
  rows.push_back({"MaxPool", "indices by column, unread", kImage,
                  pool("MaxPool", {{"kernel_shape", List{2, 2}}, {"storage_order", int64_t{1}}})});
  for (const char* op : {"GlobalMaxPool", "GlobalAveragePool"}) {
    rows.push_back({op, "images", kImage, pool(op)});
    rows.push_back({op, "sequences", kSequence, pool(op)});
    rows.push_back({op, "volumes", {2, 3, 2, 2}, pool(op)});
  }
  const auto text = [](const char* value) { return std::string(value); };
  rows.push_back({"Resize", "nearest, scales", kImage,
                  resize({1, 1, 2, 2}, {},
                         {{"mode", text("nearest")},
                          {"coordinate_transformation_mode", text("asymmetric")},
                          {"nearest_mode", text("floor")}})});
  for (const char* coordinates : {"half_pixel", "align_corners", "pytorch_half_pixel", "asymmetric"}) {
    rows.push_back(
        {"Resize", text("linear, sizes, ") + coordinates, kImage,
         resize({}, {2, 7, 3}, {{"mode", text("linear")}, {"coordinate_transformation_mode", text(coordinates)}})});
  }
  for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
    rows.push_back({"Resize", text("nearest, sizes, ") + rounding, kImage,
                    resize({}, {2, 7, 3}, {{"mode", text("nearest")}, {"nearest_mode", text(rounding)}})});
    rows.push_back({"Resize", text("nearest, scales, asymmetric, ") + rounding, kImage,
                    resize({1, 1, 0.6f, 1.5f}, {},
                           {{"mode", text("nearest")},
                            {"coordinate_transformation_mode", text("asymmetric")},
                            {"nearest_mode", text(rounding)}})});
  }
  for (const char* coordinates : {"half_pixel", "align_corners", "pytorch_half_pixel", "asymmetric"}) {
    rows.push_back(
        {"Resize", text("linear, to one row, ") + coordinates, kImage,
         resize({}, {2, 1, 6}, {{"mode", text("linear")}, {"coordinate_transformation_mode", text(coordinates)}})});
  }
  // What the other modes have attributes for.
  rows.push_back({"Resize", "linear, scales, attributes of other modes", kImage,
                  resize({1, 1, 1.7f, 0.8f}, {},
                         {{"mode", text("linear")},
                          {"cubic_coeff_a", -0.5f},
                          {"exclude_outside", int64_t{1}},
                          {"extrapolation_value", 3.0f}})});
  rows.push_back(
      {"Resize", "attributes of opset 18", kImage,
       resize({1, 1, 2, 2}, {},
              {{"mode", text("nearest")}, {"antialias", int64_t{0}}, {"keep_aspect_ratio_policy", text("stretch")}}),
       18});

  rows.push_back({.op = "BatchNormalization",
                  .form = "images",
                  .input = kImage,
                  .build = batch_norm,
                  .training = batch_norm_by_hand({0, 2, 3}, {1, 2, 1, 1})});
  rows.push_back({.op = "BatchNormalization",
                  .form = "vectors",
                  .input = {2},
                  .build = batch_norm,
                  .training = batch_norm_by_hand({0}, {1, 2})});
  rows.push_back({.op = "BatchNormalization",
                  .form = "sequences",
                  .input = kSequence,
                  .build = batch_norm,
                  .training = batch_norm_by_hand({0, 2}, {1, 2, 1})});
  rows.push_back({"InstanceNormalization", "images", kImage, instance_norm});
  rows.push_back({"InstanceNormalization", "sequences", kSequence, instance_norm});
  rows.push_back({"GroupNormalization", "images", {4, 3, 2}, group_norm, 18});
  rows.push_back({"GroupNormalization", "sequences", {4, 3}, group_norm, 18});
  for (const int64_t size : {1, 2, 3, 5}) {
    rows.push_back({"LRN",
                    "size " + std::to_string(size),
                    {4, 3, 2},
                    pool("LRN", {{"size", size}, {"alpha", 0.3f}, {"beta", 0.6f}, {"bias", 1.5f}})});
  }
  rows.push_back({"LRN", "sequences", {4, 3}, pool("LRN", {{"size", int64_t{3}}})});
  rows.push_back({"LayerNormalization", "last", {2, 4}, layer_norm(-1, {4}, true), 17});
  rows.push_back({"LayerNormalization", "by default", {2, 4}, layer_norm(-1, {4}, true, true), 17});
  rows.push_back({"LayerNormalization", "two, no bias", {2, 4}, layer_norm(1, {2, 4}, false), 17});

  const std::pair<const char*, int64_t> cells[] = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};
  for (const auto& [op, gates] : cells) {
    const Attributes own = gates == 3 ? Attributes{{"linear_before_reset", int64_t{1}}} : Attributes{};
    rows.push_back({op, "forward", {3, 2}, recurrent(op, {gates, 1, true, own})});
    rows.push_back({op, "both directions", {3, 2}, recurrent(op, {gates, 2, true, own})});
    rows.push_back({op, "last state, no bias", {3, 2}, recurrent(op, {gates, 1, false, own, 1})});
    Attributes reverse = own;
    reverse["direction"] = text("reverse");
    rows.push_back({op, "reverse", {3, 2}, recurrent(op, {gates, 1, true, reverse})});
  }
  for (const auto& [op, gates] : cells) {
    const Attributes own = gates == 3 ? Attributes{{"linear_before_reset", int64_t{1}}} : Attributes{};
    Attributes named = own;
    named["activations"] = gates == 4   ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                           : gates == 3 ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                        : std::vector<std::string>{"Tanh"};
    rows.push_back({op, "activations by name", {3, 2}, recurrent(op, {gates, 1, true, named})});
    rows.push_back({op, "initial state", {3, 2}, recurrent(op, {gates, 1, true, own, 0, true})});
    rows.push_back({op, "initial states, last states", {3, 2}, recurrent(op, {gates, 2, true, own, 1, true})});
    rows.push_back({op, "lengths", {3, 2}, recurrent(op, {gates, 1, true, own, 0, false, true})});
  }
  rows.push_back(
      {"LSTM", "input_forget of 0", {3, 2}, recurrent("LSTM", {4, 1, true, {{"input_forget", int64_t{0}}}})});
  rows.push_back({"RNN",
                  "relu both ways",
                  {3, 2},
                  recurrent("RNN", {1, 2, true, {{"activations", std::vector<std::string>{"Relu", "Relu"}}}})});
  rows.push_back({"LSTM", "last cell", {3, 2}, recurrent("LSTM", {4, 1, true, {}, 2})});
  rows.push_back({"GRU", "reset before", {3, 2}, recurrent("GRU", {3, 1, true, {}})});
  rows.push_back(
      {"RNN", "relu", {3, 2}, recurrent("RNN", {1, 1, true, {{"activations", std::vector<std::string>{"Relu"}}}})});
  return rows;
}

}  // namespace coterie::model_import::matrix
