// Forms of operators that are refused: attributes, operands and outputs that no row of the others has.
#include "tests/unit/model_import/matrix/operator_row.h"

namespace coterie::model_import::matrix {
namespace {

using List = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

Build plain(const std::string& op, const Attributes& attributes = {}) {
  return [=](RowGraph& g, const std::string& x) { return g.node(op, {x}, attributes); };
}

Build with_list(const std::string& op, const List& list, const Attributes& attributes = {}) {
  return [=](RowGraph& g, const std::string& x) { return g.node(op, {x, g.list(list)}, attributes); };
}

Build with_axes(const std::string& op, const List& axes, int64_t since) {
  return [=](RowGraph& g, const std::string& x) { return g.node_with_list(op, {x}, "axes", axes, since); };
}

// The second output is read.
Build second_output(const std::string& op, const Attributes& attributes, const Shape& weight = {}) {
  return [=](RowGraph& g, const std::string& x) {
    std::vector<std::string> operands{x};
    if (!weight.empty()) operands.push_back(g.weight("w", weight));
    const std::string y = g.node(op, operands, attributes, 2);
    return g.node("Add", {y, g.node("Cast", {y + ".1"}, {{"to", int64_t{1}}})});
  };
}

Build with_weight(const std::string& op, const Shape& weight, const Attributes& attributes = {}) {
  return [=](RowGraph& g, const std::string& x) { return g.node(op, {x, g.weight("w", weight)}, attributes); };
}

Build resize(const Attributes& attributes, const std::vector<float>& scales = {1, 1, 2, 2}) {
  return [=](RowGraph& g, const std::string& x) {
    const int64_t count = static_cast<int64_t>(scales.size());
    return g.node("Resize", {x, g.opset < 13 ? g.table({0}, {}) : "", g.table({count}, scales)}, attributes);
  };
}

// A layer of hidden size 2 for [3 steps, 2 inputs], with operands after its bias.
Build recurrent(const std::string& op, int64_t gates, const Attributes& attributes, int64_t directions = 1,
                std::vector<List> lengths = {}, bool has_peepholes = false) {
  return [=](RowGraph& g, const std::string& x) {
    std::vector<std::string> operands{g.node("Transpose", {x}, {{"perm", List{1, 0, 2}}}),
                                      g.weight("w", {directions, 2 * gates, 2}),
                                      g.weight("r", {directions, 2 * gates, 2}), ""};
    operands.push_back(lengths.empty() ? "" : g.list(lengths[0]));
    if (has_peepholes) operands.insert(operands.end(), {"", "", g.weight("p", {directions, 6})});
    Attributes all = attributes;
    all["hidden_size"] = int64_t{2};
    if (directions == 2) all["direction"] = std::string("bidirectional");
    return g.node("Transpose", {g.node(op, operands, all)}, {{"perm", List{2, 0, 1, 3}}});
  };
}

Attributes activations(std::vector<std::string> names) { return {{"activations", std::move(names)}}; }

std::string pads_of_axes(RowGraph& g, const std::string& x) { return g.node("Pad", {x, g.list({1, 0, 0, 0, 0, 0})}); }

std::string concat_of_batches(RowGraph& g, const std::string& x) {
  return g.node("Concat", {x, x}, {{"axis", int64_t{0}}});
}

std::string split_by_default(RowGraph& g, const std::string& x) {
  return g.node("Split", {x}, g.opset < 18 ? Attributes{} : Attributes{{"num_outputs", int64_t{2}}}, 2);
}

std::string cum_sum_of_batches(RowGraph& g, const std::string& x) { return g.node("CumSum", {x, g.list({0})}); }

std::string slice_of_batches(RowGraph& g, const std::string& x) {
  return g.node("Slice", {x, g.list({0}), g.list({1}), g.list({0})});
}

}  // namespace

std::vector<RefusedRow> refused_rows() {
  const Shape kPlain{2, 3}, kImage{2, 5, 4}, kSequence{2, 6}, kSteps{3, 2};
  const auto text = [](const char* value) { return std::string(value); };
  std::vector<RefusedRow> rows;
  rows.push_back({"MaxPool", "dilations", kImage,
                  plain("MaxPool", {{"kernel_shape", List{2, 2}}, {"dilations", List{2, 1}}}), "dilations"});
  rows.push_back({"AveragePool", "dilations", kImage,
                  plain("AveragePool", {{"kernel_shape", List{2, 2}}, {"dilations", List{1, 2}}}), "dilations", 19});
  rows.push_back({"MaxPool", "indices", kImage, second_output("MaxPool", {{"kernel_shape", List{1, 1}}}),
                  "its output of indices"});
  rows.push_back({"MaxPool",
                  "volumes",
                  {2, 3, 3, 3},
                  plain("MaxPool", {{"kernel_shape", List{2, 2, 2}}}),
                  "only of images and sequences"});
  rows.push_back({"AveragePool",
                  "volumes",
                  {2, 3, 3, 3},
                  plain("AveragePool", {{"kernel_shape", List{2, 2, 2}}}),
                  "only of images and sequences"});
  rows.push_back({"GlobalMaxPool", "vectors", {2}, plain("GlobalMaxPool"), "needs images or sequences"});
  rows.push_back({"GlobalAveragePool", "vectors", {2}, plain("GlobalAveragePool"), "needs images or sequences"});
  rows.push_back({"Conv",
                  "volumes",
                  {2, 3, 3, 3},
                  with_weight("Conv", {2, 2, 2, 2, 2}),
                  "only of images (rank 4) and sequences (rank 3), not of rank 5"});
  rows.push_back({"ConvTranspose", "output_shape", kImage,
                  with_weight("ConvTranspose", {2, 3, 2, 2}, {{"output_shape", List{6, 5}}}),
                  "output_shape and auto_pad"});
  rows.push_back({"ConvTranspose", "auto_pad", kImage,
                  with_weight("ConvTranspose", {2, 3, 2, 2}, {{"auto_pad", text("SAME_UPPER")}}),
                  "output_shape and auto_pad"});
  rows.push_back(
      {"Resize", "cubic", kImage, resize({{"mode", text("cubic")}}), "mode cubic; supported are nearest, linear"});
  rows.push_back({"Resize", "a region", kImage,
                  resize({{"coordinate_transformation_mode", text("tf_crop_and_resize")}}),
                  "coordinate_transformation_mode tf_crop_and_resize"});
  rows.push_back({"Resize", "symmetric", kImage,
                  resize({{"coordinate_transformation_mode", text("half_pixel_symmetric")}}),
                  "coordinate_transformation_mode half_pixel_symmetric", 19});
  rows.push_back(
      {"Resize", "antialias", kImage, resize({{"mode", text("linear")}, {"antialias", int64_t{1}}}), "antialias", 18});
  rows.push_back({"Resize", "aspect ratio", kImage, resize({{"keep_aspect_ratio_policy", text("not_larger")}}),
                  "keep_aspect_ratio_policy", 18});
  rows.push_back({"Resize", "axes", kImage, resize({{"axes", List{2, 3}}}, {2, 2}),
                  "axes: give sizes or scales for all dimensions", 18});
  rows.push_back({"Resize", "channels", kImage, resize({}, {1, 2, 2, 2}), "only height and width may change"});
  rows.push_back({"Resize", "sequences", kSequence, resize({}, {1, 1, 2}), "only of images (rank 4)"});
  rows.push_back(
      {"LRN", "vectors of no channels", {}, plain("LRN", {{"size", int64_t{3}}}), "needs [batch, channels, ...]"});
  rows.push_back({"LayerNormalization", "the batch", kPlain,
                  with_weight("LayerNormalization", {2, 3}, {{"axis", int64_t{0}}}), "normalises over the batch", 17});
  rows.push_back({"LayerNormalization", "Mean", kPlain, second_output("LayerNormalization", {}, {3}),
                  "its outputs Mean and InvStdDev", 17});
  rows.push_back({"LayerNormalization", "one scale for two dimensions", kPlain,
                  with_weight("LayerNormalization", {3}, {{"axis", int64_t{1}}}),
                  "its scale and bias must have the shape that is normalised", 17});
  rows.push_back({"Dropout", "mask", kPlain, second_output("Dropout", {}), "its output of the mask"});
  rows.push_back(
      {"Selu", "other constants", kPlain, plain("Selu", {{"alpha", 1.5f}}), "other alpha or gamma than SELU's"});
  rows.push_back(
      {"Selu", "another scale", kPlain, plain("Selu", {{"gamma", 1.5f}}), "other alpha or gamma than SELU's"});
  rows.push_back(
      {"Celu", "alpha below 0", kPlain, plain("Celu", {{"alpha", -1.0f}}), "an alpha that is not above 0", 12});
  rows.push_back({"PRelu", "a slope a column", kPlain, with_weight("PRelu", {3}),
                  "its slope must be one number, or one a channel"});
  rows.push_back({"PRelu", "a slope an element", kPlain, with_weight("PRelu", {2, 3}),
                  "its slope must be one number, or one a channel"});
  rows.push_back(
      {"Softmax", "the batch", kPlain, plain("Softmax", {{"axis", int64_t{0}}}), "normalises over the batch"});
  rows.push_back(
      {"LogSoftmax", "the batch", kPlain, plain("LogSoftmax", {{"axis", int64_t{0}}}), "normalises over the batch"});
  rows.push_back({"Pad", "wrap", kPlain, with_list("Pad", {0, 0, 1, 0, 0, 1}, {{"mode", text("wrap")}}),
                  "mode wrap; only constant, reflect and edge", 19});
  rows.push_back({"Pad", "edge that cuts", kPlain, with_list("Pad", {0, 0, -1, 0, 0, 1}, {{"mode", text("edge")}}),
                  "a mode other than constant that cuts off"});
  rows.push_back({"Pad", "the batch", kPlain, pads_of_axes, "pads the batch"});
  rows.push_back({"Tile", "the batch", kPlain, with_list("Tile", {2, 1, 1}), "repeats the batch"});
  rows.push_back({"Concat", "the batch", kPlain, concat_of_batches, "joins along the batch"});
  rows.push_back({"Split", "the batch by default", kPlain, split_by_default, "splits the batch"});
  rows.push_back({"Slice", "the batch", kPlain, slice_of_batches, "cuts a part out of the batch"});
  rows.push_back(
      {"Gather", "the batch by default", kPlain, with_list("Gather", {1, 0}), "looks up examples of the batch"});
  rows.push_back({"ArgMax", "the batch by default", kPlain, plain("ArgMax"), "looks for an example of the batch"});
  rows.push_back({"ArgMin", "the batch by default", kPlain, plain("ArgMin"), "looks for an example of the batch"});
  rows.push_back({"CumSum", "the batch", kPlain, cum_sum_of_batches, "adds up the batch"});
  rows.push_back({"Gemm",
                  "transposed activations",
                  {4},
                  with_weight("Gemm", {2, 4}, {{"transA", int64_t{1}}}),
                  "sums over the batch"});
  rows.push_back(
      {"MatMul", "a vector", {2, 4}, with_weight("MatMul", {4}), "vectors: give its operands two dimensions"});
  rows.push_back({"ReduceProd", "of activations", kPlain, with_axes("ReduceProd", {1}, 18),
                  "is only supported on values that are known when the model is converted"});
  rows.push_back({"LSTM", "peepholes", kSteps, recurrent("LSTM", 4, {}, 1, {}, true), "peepholes"});
  rows.push_back(
      {"LSTM", "input_forget", kSteps, recurrent("LSTM", 4, {{"input_forget", int64_t{1}}}), "input_forget and clip"});
  // Its list has the activations of one direction after those of the other.
  rows.push_back({"RNN", "relu there, tanh back", kSteps, recurrent("RNN", 1, activations({"Relu", "Tanh"}), 2),
                  "activation Tanh"});
  rows.push_back({"RNN", "tanh there, relu back", kSteps, recurrent("RNN", 1, activations({"Tanh", "Relu"}), 2),
                  "activation Relu"});
  for (const char* op : {"Floor", "Ceil", "Round", "Sin", "Cos"}) {
    rows.push_back({op, "of activations", kPlain, plain(op), "is only supported on values that are known"});
  }
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare"}) {
    rows.push_back({op, "all by default", kPlain, plain(op), "reduces over the batch"});
    rows.push_back(
        {op, "the batch", kPlain, with_axes(op, {0}, op == text("ReduceSum") ? 13 : 18), "reduces over the batch"});
  }
  const std::pair<const char*, int64_t> cells[] = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};
  for (const auto& [op, gates] : cells) {
    std::vector<std::string> affine(gates == 4 ? 3 : gates == 3 ? 2 : 1, "Affine");
    Attributes other = activations(affine);
    other["activation_alpha"] = std::vector<float>{0.5f};
    other["activation_beta"] = std::vector<float>{0.1f};
    rows.push_back({op, "other activations", kSteps, recurrent(op, gates, other), "activation Affine"});
    rows.push_back({op, "clip", kSteps, recurrent(op, gates, {{"clip", 1.0f}}), "input_forget and clip"});
    rows.push_back(
        {op, "layout", kSteps, recurrent(op, gates, {{"layout", int64_t{1}}}), "layout 1: transpose its input", 14});
    rows.push_back({op, "lengths", kSteps, recurrent(op, gates, {}, 1, {{3, 2, 3}}),
                    "sequence_lens: all sequences must have the full length"});
  }
  return rows;
}

}  // namespace coterie::model_import::matrix
