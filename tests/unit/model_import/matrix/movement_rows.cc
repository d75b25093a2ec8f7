// Operators that move elements: shapes, parts, joins, look-ups.
#include "tests/unit/model_import/matrix/operator_row.h"

namespace coterie::model_import::matrix {
namespace {

using List = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

// Behind it a product with numbers that differ: an element in the wrong place changes the loss and its gradient.
std::string marked(RowGraph& g, const std::string& y, const Shape& shape) {
  std::vector<float> marks;
  int64_t count = 1;
  for (const int64_t dimension : shape) count *= dimension;
  for (int64_t i = 0; i < count; ++i) marks.push_back(0.5f + static_cast<float>(i % 7) * 0.25f);
  return g.node("Mul", {y, g.table(shape, marks)});
}

Build with_list(const std::string& op, const List& list, const Shape& to, const Attributes& attributes = {}) {
  return [=](RowGraph& g, const std::string& x) { return marked(g, g.node(op, {x, g.list(list)}, attributes), to); };
}

Build with_attributes(const std::string& op, const Shape& to, const Attributes& attributes = {}) {
  return [=](RowGraph& g, const std::string& x) { return marked(g, g.node(op, {x}, attributes), to); };
}

Build with_axes(const std::string& op, const List& axes, const Shape& to) {
  return [=](RowGraph& g, const std::string& x) { return marked(g, g.node_with_list(op, {x}, "axes", axes, 13), to); };
}

// As PyTorch exports x.view(x.size(0), -1): the shape is computed in the graph.
std::string reshape_by_its_own_shape(RowGraph& g, const std::string& x) {
  const std::string batch = g.node("Slice", {g.node("Shape", {x}), g.list({0}), g.list({1}), g.list({0})});
  const std::string to = g.node("Concat", {batch, g.list({-1})}, {{"axis", int64_t{0}}});
  return marked(g, g.node("Reshape", {x, to}), {12});
}

std::string expand(RowGraph& g, const std::string& x) {
  const std::string wide = g.node_with_list("Unsqueeze", {x}, "axes", {2}, 13);
  return marked(g, g.node("Expand", {wide, g.list({1, 1, 3, 1})}), {2, 3, 3});
}

std::string concat(RowGraph& g, const std::string& x) {
  const std::string half = g.node("Mul", {x, g.number(0.5f)});
  return marked(g, g.node("Concat", {x, half}, {{"axis", int64_t{1}}}), {4, 3});
}

std::string concat_of_images(RowGraph& g, const std::string& x) {
  const std::string pooled = g.node("MaxPool", {x}, {{"kernel_shape", List{1, 1}}});
  return marked(g, g.node("Concat", {pooled, x}, {{"axis", int64_t{1}}}), {4, 3, 2});
}

// Equal parts without a list, and parts that the list says. Opset 18 wants their number.
std::string split_equally(RowGraph& g, const std::string& x) {
  Attributes attributes = {{"axis", int64_t{2}}};
  if (g.opset >= 18) attributes["num_outputs"] = int64_t{2};
  const std::string first = g.node("Split", {x}, attributes, 2);
  return marked(g, g.node("Sub", {first, first + ".1"}), {2, 2});
}

std::string split_unequally(RowGraph& g, const std::string& x) {
  const std::string first = g.node_with_list("Split", {x}, "split", {1, 3}, 13, {{"axis", int64_t{-1}}}, 2);
  return marked(g, g.node("Mul", {first, first + ".1"}), {2, 3});
}

std::string split_into_parts_and_a_rest(RowGraph& g, const std::string& x) {
  const std::string first = g.node("Split", {x}, {{"axis", int64_t{2}}, {"num_outputs", int64_t{3}}}, 3);
  return marked(g, g.node("Concat", {first + ".2", first}, {{"axis", int64_t{2}}}), {2, 3});
}

Build slice(const List& starts, const List& ends, const List& axes, const List& steps, const Shape& to) {
  return [=](RowGraph& g, const std::string& x) {
    std::vector<std::string> operands{x, g.list(starts), g.list(ends), g.list(axes)};
    if (!steps.empty()) operands.push_back(g.list(steps));
    return marked(g, g.node("Slice", operands), to);
  };
}

// The axes are the first ones, the batch among them, whose end is open.
std::string slice_without_axes(RowGraph& g, const std::string& x) {
  const std::string starts = g.list({0, 1, 0}), ends = g.list({std::numeric_limits<int64_t>::max(), 3, -1});
  return marked(g, g.node("Slice", {x, starts, ends}), {2, 4});
}

// The dimensions are turned around, the batch with them, and back.
std::string transpose_without_order(RowGraph& g, const std::string& x) {
  return marked(g, g.node("Transpose", {g.node("Mul", {g.node("Transpose", {x}), g.number(0.5f)})}), {2, 3});
}

std::string squeeze_without_axes(RowGraph& g, const std::string& x) {
  return marked(g, g.node("Squeeze", {x}), {2, 3});
}

std::string reshape_without_zeros(RowGraph& g, const std::string& x) {
  return marked(g, g.node("Reshape", {x, g.list({-1, 4, 3})}, {{"allowzero", int64_t{1}}}), {4, 3});
}

std::string expand_to_the_shape_of_another(RowGraph& g, const std::string& x) {
  const std::string column = g.node_with_list("ReduceSum", {x}, "axes", {2}, 13, {{"keepdims", int64_t{1}}});
  return marked(g, g.node("Expand", {column, g.node("Shape", {x})}), {2, 3});
}

std::string concat_from_the_end(RowGraph& g, const std::string& x) {
  return marked(g, g.node("Concat", {x, x, g.node("Neg", {x})}, {{"axis", int64_t{-1}}}), {2, 9});
}

// A part that is the same for each example, such as a class token.
std::string concat_with_a_table(RowGraph& g, const std::string& x) {
  const std::string shape =
      g.node("Concat", {g.node("Slice", {g.node("Shape", {x}), g.list({0}), g.list({1})}), g.list({1, 3})},
             {{"axis", int64_t{0}}});
  const std::string token = g.node("Expand", {g.weight("token", {1, 1, 3}), shape});
  return marked(g, g.node("Concat", {token, x}, {{"axis", int64_t{1}}}), {3, 3});
}

Build pad(const List& pads, float value, const Shape& to) {
  return [=](RowGraph& g, const std::string& x) {
    return marked(g, g.node("Pad", {x, g.list(pads), g.number(value)}), to);
  };
}

Build pad_with_itself(const std::string& mode, const List& pads, const Shape& to) {
  return [=](RowGraph& g, const std::string& x) {
    return marked(g, g.node("Pad", {x, g.list(pads)}, {{"mode", mode}}), to);
  };
}

std::string pad_by_default(RowGraph& g, const std::string& x) {
  return marked(g, g.node("Pad", {x, g.list({0, 0, 1, 0, 1, 0})}), {3, 4});
}

// Behind a convolution, so that the image lies with its channels last.
Build block(const std::string& op, const Attributes& attributes, int64_t filters, const Shape& to) {
  return [=](RowGraph& g, const std::string& x) {
    const std::string image = g.node("Conv", {x, g.weight("w", {filters, 1, 1, 1})});
    return marked(g, g.node(op, {image}, attributes), to);
  };
}

Build cum_sum(int64_t axis, bool is_exclusive, bool is_reverse, const Shape& to) {
  return [=](RowGraph& g, const std::string& x) {
    const std::string along = g.node_with_list("Squeeze", {g.list({axis})}, "axes", {0}, 13);
    return marked(
        g, g.node("CumSum", {x, along}, {{"exclusive", int64_t{is_exclusive}}, {"reverse", int64_t{is_reverse}}}), to);
  };
}

std::string cum_sum_by_default(RowGraph& g, const std::string& x) {
  return marked(g, g.node("CumSum", {x, g.list({2})}), {2, 3});
}

// The place, as a number beside x. The attribute came with opset 12.
Build arg(const std::string& op, int64_t axis, bool keeps, bool is_last = false) {
  return [=](RowGraph& g, const std::string& x) {
    Attributes attributes = {{"axis", axis}, {"keepdims", int64_t{keeps}}};
    if (is_last) attributes["select_last_index"] = int64_t{1};
    const std::string place = g.node("Cast", {g.node(op, {x}, attributes)}, {{"to", int64_t{1}}});
    return g.node("Mul", {x, keeps ? place : g.node_with_list("Unsqueeze", {place}, "axes", {axis}, 13)});
  };
}

// Places that several elements share: rounded to a few numbers by way of integers.
std::string arg_of_ties(RowGraph& g, const std::string& x) {
  const std::string tokens = g.index_input("tokens", {2, 3}, 2);
  const std::string first = g.node("ArgMax", {tokens}, {{"axis", int64_t{-1}}});
  return g.node("Mul", {x, g.node("Cast", {first}, {{"to", int64_t{1}}})});
}

std::string last_arg_of_ties(RowGraph& g, const std::string& x) {
  const std::string tokens = g.index_input("tokens", {2, 3}, 2);
  const Attributes attributes = {{"axis", int64_t{-1}}, {"select_last_index", int64_t{1}}};
  return g.node("Mul", {x, g.node("Cast", {g.node("ArgMin", {tokens}, attributes)}, {{"to", int64_t{1}}})});
}

Build one_hot(int64_t axis) {
  return [=](RowGraph& g, const std::string& x) {
    const std::string tokens = g.index_input("tokens", {2}, 4);
    // Half of them count from the end, and the fourth has no place.
    const std::string moved = g.node("Sub", {g.node("Cast", {tokens}, {{"to", int64_t{1}}}), g.table({2}, {0, 3})});
    const std::string signed_tokens = g.node("Cast", {moved}, {{"to", int64_t{7}}});
    const std::string depth = g.node_with_list("Squeeze", {g.list({3})}, "axes", {0}, 13);
    const std::string hot = g.node("OneHot", {signed_tokens, depth, g.table({2}, {-0.5f, 2})}, {{"axis", axis}});
    return g.node("Mul", {x, hot});
  };
}

std::string one_hot_by_default(RowGraph& g, const std::string& x) {
  const std::string tokens = g.index_input("tokens", {2}, 3);
  return g.node("Mul", {x, g.node("OneHot", {tokens, g.list({3}), g.table({2}, {0, 1})})});
}

std::string pad_of_axes(RowGraph& g, const std::string& x) {
  return marked(g, g.node("Pad", {x, g.list({1, 2}), g.number(0), g.list({2})}), {2, 6});
}

Build gather(int64_t axis, const List& rows, const Shape& to) {
  return [=](RowGraph& g, const std::string& x) {
    return marked(g, g.node("Gather", {x, g.list(rows)}, {{"axis", axis}}), to);
  };
}

// One index without dimensions takes the axis away.
std::string gather_of_one(RowGraph& g, const std::string& x) {
  const std::string row = g.node_with_list("Squeeze", {g.list({-2})}, "axes", {0}, 13);
  return marked(g, g.node("Gather", {x, row}, {{"axis", int64_t{1}}}), {3});
}

std::string gather_of_a_table(RowGraph& g, const std::string& x) {
  const std::string rows = g.node("Reshape", {g.list({0, 3, 3, 1, 2, 2}), g.list({3, 2})});
  return marked(g, g.node("Gather", {x, rows}, {{"axis", int64_t{1}}}), {3, 2, 3});
}

// Rows of the input that another input names, in a table of its own.
std::string gather_by_axis_of_constants(RowGraph& g, const std::string& x) {
  const std::string tokens = g.index_input("tokens", {3}, 4);
  const std::string table = g.table({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const std::string found = g.node("Gather", {table, tokens}, {{"axis", int64_t{1}}});  // [3, batch, 3]
  return g.node("Add", {x, g.node("Transpose", {found}, {{"perm", List{1, 0, 2}}})});
}

std::string embedding(RowGraph& g, const std::string& x) {
  const std::string tokens = g.index_input("tokens", {2}, 4);
  return g.node("Add", {x, g.node("Gather", {g.weight("rows", {4, 3}), tokens})});
}

}  // namespace

std::vector<OperatorRow> movement_rows() {
  const Shape kPlain{2, 3}, kImage{2, 3, 2};
  std::vector<OperatorRow> rows;
  rows.push_back({"Reshape", "0 and -1", kImage, with_list("Reshape", {0, -1, 2}, {6, 2})});
  rows.push_back({"Reshape", "by its own shape", kImage, reshape_by_its_own_shape});
  rows.push_back({"Reshape", "without zeros", kImage, reshape_without_zeros, 14});
  rows.push_back({"Flatten", "axis from the end", kImage, with_attributes("Flatten", {12}, {{"axis", int64_t{-3}}})});
  rows.push_back({"Flatten", "", kImage, with_attributes("Flatten", {12})});
  rows.push_back({"Flatten", "axis", kPlain, with_attributes("Flatten", {6}, {{"axis", int64_t{1}}})});
  rows.push_back({"Squeeze", "", {2, 1, 3}, with_axes("Squeeze", {2}, {2, 3})});
  rows.push_back({"Squeeze", "all", {2, 1, 3}, squeeze_without_axes});
  rows.push_back({"Unsqueeze", "", kPlain, with_axes("Unsqueeze", {-1, 1}, {1, 2, 3, 1})});
  rows.push_back({"Transpose", "", kImage, with_attributes("Transpose", {2, 2, 3}, {{"perm", List{0, 3, 1, 2}}})});
  rows.push_back({"Transpose", "turned around", kPlain, transpose_without_order});
  rows.push_back({"Expand", "", kPlain, expand});
  rows.push_back({"Expand", "to the shape of another", kPlain, expand_to_the_shape_of_another});
  rows.push_back({"Tile", "", kPlain, with_list("Tile", {1, 2, 3}, {4, 9})});
  rows.push_back({"Tile", "of one", {1, 3}, with_list("Tile", {1, 4, 1}, {4, 3})});
  rows.push_back({"Concat", "", kPlain, concat});
  rows.push_back({"Concat", "channels of images", kImage, concat_of_images});
  rows.push_back({"Concat", "axis from the end", kPlain, concat_from_the_end});
  rows.push_back({"Concat", "a table for each example", kPlain, concat_with_a_table});
  rows.push_back({"Split", "equal", {2, 4}, split_equally});
  rows.push_back({"Split", "unequal", {2, 4}, split_unequally});
  rows.push_back({"Split", "parts and a rest", {2, 5}, split_into_parts_and_a_rest, 18});
  rows.push_back({"Slice", "", {4, 5}, slice({1, -4}, {3, 1000}, {1, 2}, {}, {2, 4})});
  rows.push_back({"Slice", "without axes", {4, 5}, slice_without_axes});
  rows.push_back({"Slice", "steps", {4, 5}, slice({0, 4}, {4, 0}, {1, 2}, {2, -2}, {2, 2})});
  rows.push_back({"Pad", "", kPlain, pad({0, 1, 0, 0, 0, 2}, 0.5f, {3, 5})});
  rows.push_back({"Pad", "by default", kPlain, pad_by_default});
  rows.push_back({"Pad", "cuts", {3, 4}, pad({0, -1, 0, 0, 1, -1}, 0, {3, 3})});
  rows.push_back({"Pad", "images", kImage, pad({0, 0, 1, 1, 0, 0, 1, 1}, 0, {2, 5, 4})});
  rows.push_back({"Pad", "axes", {2, 3}, pad_of_axes, 18});
  rows.push_back({"Pad", "reflect", {3, 4}, pad_with_itself("reflect", {0, 2, 3, 0, 1, 2}, {6, 9})});
  rows.push_back({"Pad", "edge", {3, 4}, pad_with_itself("edge", {0, 2, 3, 0, 1, 5}, {6, 12})});
  rows.push_back(
      {"Pad", "reflect, images", {2, 3, 3}, pad_with_itself("reflect", {0, 0, 1, 2, 0, 0, 2, 1}, {2, 6, 6})});
  rows.push_back({"DepthToSpace", "", {1, 2, 3}, block("DepthToSpace", {{"blocksize", int64_t{2}}}, 8, {2, 4, 6})});
  rows.push_back({"DepthToSpace",
                  "as PyTorch",
                  {1, 2, 3},
                  block("DepthToSpace", {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}}, 8, {2, 4, 6})});
  rows.push_back({"SpaceToDepth", "", {1, 4, 6}, block("SpaceToDepth", {{"blocksize", int64_t{2}}}, 2, {8, 2, 3})});
  for (const bool is_reverse : {false, true}) {
    for (const bool is_exclusive : {false, true}) {
      const std::string form = std::string(is_reverse ? "reverse" : "") + (is_exclusive ? ", exclusive" : "");
      rows.push_back({"CumSum", "last" + form, {2, 3}, cum_sum(-1, is_exclusive, is_reverse, {2, 3})});
      rows.push_back({"CumSum", "inner" + form, {3, 2, 2}, cum_sum(1, is_exclusive, is_reverse, {3, 2, 2})});
    }
  }
  rows.push_back({"CumSum", "by default", {2, 3}, cum_sum_by_default});
  for (const char* op : {"ArgMax", "ArgMin"}) {
    rows.push_back({op, "last", {2, 3}, arg(op, -1, true)});
    rows.push_back({op, "inner, gone", {3, 2}, arg(op, 1, false)});
    rows.push_back({op, "last of several", {3, 2}, arg(op, 1, true, true), 12});
  }
  rows.push_back({"ArgMax", "ties", {2, 3}, arg_of_ties});
  rows.push_back({"ArgMin", "ties, the last", {2, 3}, last_arg_of_ties, 12});
  rows.push_back({"OneHot", "last", {2, 3}, one_hot(-1)});
  rows.push_back({"OneHot", "by default", {2, 3}, one_hot_by_default});
  rows.push_back({"OneHot", "inner", {3, 2}, one_hot(1)});
  rows.push_back({"Gather", "rows", {4, 3}, gather(1, {3, 0, 0}, {3, 3})});
  rows.push_back({"Gather", "negative", {4, 3}, gather(2, {-1, 0}, {4, 2})});
  rows.push_back({"Gather", "one", {4, 3}, gather_of_one});
  rows.push_back({"Gather", "a table of rows", {4, 3}, gather_of_a_table});
  rows.push_back({"Gather", "columns of constants", {3, 3}, gather_by_axis_of_constants});
  rows.push_back({"Gather", "embedding", kPlain, embedding});
  return rows;
}

}  // namespace coterie::model_import::matrix
