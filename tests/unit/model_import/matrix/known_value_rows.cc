// Operators that the importer computes where their operands are known: the row's result is x beside such a value.
#include "tests/unit/model_import/matrix/operator_row.h"

namespace coterie::model_import::matrix {
namespace {

using List = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

constexpr int64_t kFloat = 1;

std::string as_floats(RowGraph& g, const std::string& value) { return g.node("Cast", {value}, {{"to", kFloat}}); }

std::string beside(RowGraph& g, const std::string& x, const std::string& value) { return g.node("Mul", {x, value}); }

Build of_floats(const std::string& op, const std::vector<std::vector<float>>& operands, bool is_truth = false) {
  return [=](RowGraph& g, const std::string& x) {
    std::vector<std::string> names;
    for (const auto& values : operands) names.push_back(g.table({static_cast<int64_t>(values.size())}, values));
    const std::string y = g.node(op, names);
    return beside(g, x, is_truth ? as_floats(g, y) : y);
  };
}

Build of_integers(const std::string& op, const std::vector<List>& operands, const Attributes& attributes = {}) {
  return [=](RowGraph& g, const std::string& x) {
    std::vector<std::string> names;
    for (const List& values : operands) names.push_back(g.list(values));
    return beside(g, x, as_floats(g, g.node(op, names, attributes)));
  };
}

Build of_truths(const std::string& op) {
  return [=](RowGraph& g, const std::string& x) {
    const std::string a = g.node("Cast", {g.list({0, 1, 1})}, {{"to", int64_t{9}}});
    const std::string b = g.node("Cast", {g.list({0, 0, 2})}, {{"to", int64_t{9}}});
    return beside(g, x, as_floats(g, g.node(op, {a, b})));
  };
}

std::string range(RowGraph& g, const std::string& x) {
  const auto scalar = [&](int64_t value) { return g.node_with_list("Squeeze", {g.list({value})}, "axes", {0}, 13); };
  return beside(g, x, as_floats(g, g.node("Range", {scalar(1), scalar(7), scalar(2)})));
}

std::string constant_of_shape(RowGraph& g, const std::string& x) {
  const HostTensor value{.element = Element::real, .shape = {1}, .reals = {1.5f}};
  return beside(g, x, g.node("ConstantOfShape", {g.list({2, 3})}, {{"value", value}}));
}

std::string shape_of_input(RowGraph& g, const std::string& x) {
  const std::string shape = g.node("Shape", {x});
  const std::string width = g.node("Gather", {shape, g.list({2})});
  return beside(g, x, as_floats(g, width));
}

std::string part_of_shape(RowGraph& g, const std::string& x) {
  return beside(g, x, as_floats(g, g.node("Shape", {x}, {{"start", int64_t{-1}}})));
}

std::string size_of_known(RowGraph& g, const std::string& x) {
  return beside(g, x, as_floats(g, g.node("Size", {g.table({2, 2}, {1, 2, 3, 4})})));
}

// As many ones as the input has elements; and what ConstantOfShape makes without a value.
std::string constant_of_the_inputs_shape(RowGraph& g, const std::string& x) {
  const HostTensor value{.element = Element::real, .shape = {1}, .reals = {1.5f}};
  return beside(g, x, g.node("ConstantOfShape", {g.node("Shape", {x})}, {{"value", value}}));
}

std::string constant_by_default(RowGraph& g, const std::string& x) {
  return g.node("Add", {x, g.node("ConstantOfShape", {g.list({2, 3})})});
}

std::string range_of_floats(RowGraph& g, const std::string& x) {
  return beside(g, x, g.node("Range", {g.number(2), g.number(0.5f), g.number(-0.5f)}));
}

std::string middle_of_shape(RowGraph& g, const std::string& x) {
  const std::string part = g.node("Shape", {x}, {{"start", int64_t{1}}, {"end", int64_t{-1}}});
  return beside(g, x, as_floats(g, part));
}

Build trilu_from(int64_t diagonal, const Attributes& attributes) {
  return [=](RowGraph& g, const std::string& x) {
    const std::string k = g.node_with_list("Squeeze", {g.list({diagonal})}, "axes", {0}, 13);
    return beside(g, x, g.node("Trilu", {g.table({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), k}, attributes));
  };
}

// What moves elements, of values that are known: a list of 2 x 3 numbers comes out in another order.
std::string moved_list(RowGraph& g, const std::string& x) {
  const std::string table = g.node("Reshape", {g.list({1, 2, 3, 4, 5, 6}), g.list({2, 3})});
  const std::string turned = g.node("Transpose", {table}, {{"perm", List{1, 0}}});
  const std::string wide =
      g.node("Expand", {g.node_with_list("Unsqueeze", {turned}, "axes", {0}, 13), g.list({1, 3, 2})});
  const std::string flat =
      g.node("Flatten", {g.node_with_list("Squeeze", {wide}, "axes", {0}, 13)}, {{"axis", int64_t{0}}});
  const std::string back = g.node("Reshape", {g.node("Identity", {flat}), g.list({2, 3})});
  return beside(g, x, as_floats(g, g.node("Slice", {back, g.list({2}), g.list({-4}), g.list({1}), g.list({-1})})));
}

std::string flattened_from_the_end(RowGraph& g, const std::string& x) {
  const std::string table = g.node("Reshape", {g.list({1, 2, 3, 4, 5, 6}), g.list({2, 3})});
  return beside(g, x, as_floats(g, g.node("Flatten", {table}, {{"axis", int64_t{-1}}})));
}

std::string chosen_known(RowGraph& g, const std::string& x) {
  const std::string is_large = g.node("Greater", {g.table({3}, {1, -1, 2}), g.number(0)});
  return beside(g, x, g.node("Where", {is_large, g.table({3}, {1, 2, 3}), g.number(0.5f)}));
}

std::string negated_known(RowGraph& g, const std::string& x) {
  const std::string are = g.node("Cast", {g.list({0, 1, 2})}, {{"to", int64_t{9}}});
  return beside(g, x, as_floats(g, g.node("Not", {are})));
}

std::string product_of_nothing(RowGraph& g, const std::string& x) {
  const Attributes attributes = {{"noop_with_empty_axes", int64_t{1}}};
  return beside(g, x, as_floats(g, g.node("ReduceProd", {g.list({2, 3, 4})}, attributes)));
}

std::string trilu(RowGraph& g, const std::string& x) {
  return beside(g, x, g.node("Trilu", {g.table({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}, {{"upper", int64_t{0}}}));
}

// The axes became an operand with opset 18.
std::string product(RowGraph& g, const std::string& x) {
  const std::string count =
      g.node_with_list("ReduceProd", {g.list({2, 3})}, "axes", {0}, 18, {{"keepdims", int64_t{1}}});
  return beside(g, x, as_floats(g, count));
}

std::string product_of_all(RowGraph& g, const std::string& x) {
  return beside(g, x, as_floats(g, g.node("ReduceProd", {g.list({2, 3})}, {{"keepdims", int64_t{0}}})));
}

}  // namespace

std::vector<OperatorRow> known_value_rows() {
  const Shape kPlain{2, 3};
  std::vector<OperatorRow> rows;
  const std::vector<float> mixed{-1.5f, 0.5f, 2.5f}, other{2, -0.5f, 2.5f};
  for (const char* op : {"Floor", "Ceil", "Round", "Sin", "Cos", "Abs", "Neg", "Exp"}) {
    rows.push_back({op, "known", kPlain, of_floats(op, {mixed})});
  }
  for (const char* op : {"Sqrt", "Log", "Reciprocal"}) {
    rows.push_back({op, "known", kPlain, of_floats(op, {{0.5f, 2, 3}})});
  }
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Min", "Max"}) {
    rows.push_back({op, "known", kPlain, of_floats(op, {mixed, other})});
    rows.push_back({op, "known integers", kPlain, of_integers(op, {{-7, 8, 9}, {2, 3, -4}})});
  }
  rows.push_back({"Pow", "known", kPlain, of_floats("Pow", {{0.5f, 2, 3}, {2, -1, 0.5f}})});
  rows.push_back({"Mod", "integers", kPlain, of_integers("Mod", {{-7, 8, 9}, {4, 3, -4}})});
  rows.push_back({"Mod", "as C has it", kPlain, of_integers("Mod", {{-7, 8, 9}, {4, 3, -4}}, {{"fmod", int64_t{1}}})});
  for (const char* op : {"Equal", "Less", "Greater"}) {
    rows.push_back({op, "known", kPlain, of_floats(op, {mixed, other}, true)});
  }
  rows.push_back({"And", "", kPlain, of_truths("And")});
  rows.push_back({"Or", "", kPlain, of_truths("Or")});
  rows.push_back({"Range", "", kPlain, range});
  rows.push_back({"ConstantOfShape", "", kPlain, constant_of_shape});
  rows.push_back({"Shape", "", kPlain, shape_of_input});
  rows.push_back({"Shape", "a part", kPlain, part_of_shape, 15});
  rows.push_back({"Range", "of floats, downwards", kPlain, range_of_floats});
  rows.push_back({"ConstantOfShape", "of the input's shape", kPlain, constant_of_the_inputs_shape});
  rows.push_back({"ConstantOfShape", "zeros", kPlain, constant_by_default});
  rows.push_back({"Shape", "from and to", {3, 3}, middle_of_shape, 15});
  rows.push_back({"Trilu", "upper by default", {2, 3, 3}, trilu_from(1, {}), 14});
  rows.push_back({"Trilu", "from below", {2, 3, 3}, trilu_from(-1, {{"upper", int64_t{1}}}), 14});
  for (const char* op : {"Reshape", "Transpose", "Unsqueeze", "Squeeze", "Expand", "Flatten", "Identity", "Slice"}) {
    rows.push_back({op, "known", kPlain, moved_list});
  }
  rows.push_back({"Flatten", "known, axis from the end", kPlain, flattened_from_the_end});
  rows.push_back({"Where", "known operands", kPlain, chosen_known});
  rows.push_back({"Not", "known", kPlain, negated_known});
  rows.push_back({"ReduceProd", "no axes", kPlain, product_of_nothing, 18});
  rows.push_back({"Size", "", kPlain, size_of_known});
  rows.push_back({"Trilu", "", {2, 3, 3}, trilu, 14});
  rows.push_back({"ReduceProd", "axis", kPlain, product});
  rows.push_back({"ReduceProd", "all", kPlain, product_of_all});
  return rows;
}

std::vector<OperatorRow> all_rows() {
  std::vector<OperatorRow> rows;
  for (const auto family :
       {elementwise_rows, arithmetic_rows, layer_rows, movement_rows, known_value_rows, fused_rows}) {
    for (OperatorRow& row : family()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace coterie::model_import::matrix
