// Operators of several operands, products of matrices, and reductions.
#include "tests/unit/model_import/matrix/operator_row.h"

namespace coterie::model_import::matrix {
namespace {

// Beside a trained table that broadcasts, and beside a number.
Build with_weight(const std::string& op, const Shape& shape, double low, double high) {
  return [=](RowGraph& g, const std::string& x) { return g.node(op, {x, g.weight("operand", shape, low, high)}); };
}

Build with_number(const std::string& op, float number, bool comes_first = false) {
  return [=](RowGraph& g, const std::string& x) {
    const std::string constant = g.number(number);
    return comes_first ? g.node(op, {constant, x}) : g.node(op, {x, constant});
  };
}

Build of_three(const std::string& op) {
  return [=](RowGraph& g, const std::string& x) {
    return g.node(op, {x, g.weight("second", {3}), g.node("Mul", {x, g.number(0.5f)})});
  };
}

Build of_one(const std::string& op) {
  return [=](RowGraph& g, const std::string& x) { return g.node(op, {x}); };
}

// What is true gets x, what is false a trained number.
std::string chosen(RowGraph& g, const std::string& condition, const std::string& x) {
  return g.node("Where", {condition, x, g.weight("other", {3})});
}

Build comparison(const std::string& op) {
  return [=](RowGraph& g, const std::string& x) { return chosen(g, g.node(op, {x, g.number(0.1f)}), x); };
}

Build comparison_of_integers(const std::string& op) {
  return [=](RowGraph& g, const std::string& x) {
    const std::string tokens = g.index_input("tokens", {2, 3}, 3);
    const std::string one = g.node_with_list("Squeeze", {g.list({1})}, "axes", {0}, 13);
    // Behind an input alone, so that a list there would normalise data and not be trained.
    return g.node("Where", {g.node(op, {tokens, one}), x, g.number(0.25f)});
  };
}

std::string comparison_of_booleans(RowGraph& g, const std::string& x) {
  const std::string tokens = g.index_input("tokens", {2, 3}, 2);
  const std::string are = g.node("Cast", {tokens}, {{"to", int64_t{9}}});
  return chosen(g, g.node("Equal", {are, g.node("Less", {x, g.number(0.1f)})}), x);
}

std::string chosen_by_a_table(RowGraph& g, const std::string& x) {
  return chosen(g, g.node("Cast", {g.list({0, 1, 1})}, {{"to", int64_t{9}}}), x);
}

// From opset 12 on the exponent may be of another type.
std::string power_of_an_integer(RowGraph& g, const std::string& x) { return g.node("Pow", {x, g.list({2, 3, 1})}); }

// Both are activations.
Build of_two_truths(const std::string& op) {
  return [=](RowGraph& g, const std::string& x) {
    return chosen(g, g.node(op, {g.node("Greater", {x, g.number(-0.3f)}), g.node("Less", {x, g.number(0.4f)})}), x);
  };
}

std::string negated(RowGraph& g, const std::string& x) {
  return chosen(g, g.node("Not", {g.node("Greater", {x, g.number(0.1f)})}), x);
}

// PyTorch's Linear, and the other forms that the operator has.
Build gemm(bool is_transposed, bool has_bias, float alpha = 1, float beta = 1) {
  return [=](RowGraph& g, const std::string& x) {
    std::vector<std::string> operands{x, g.weight("w", is_transposed ? Shape{2, 4} : Shape{4, 2})};
    if (has_bias) operands.push_back(g.weight("b", {2}));
    return g.node("Gemm", operands, {{"transB", int64_t{is_transposed}}, {"alpha", alpha}, {"beta", beta}});
  };
}

// Bias shapes that the operator broadcasts.
Build gemm_with_bias(const Shape& bias, float beta) {
  return [=](RowGraph& g, const std::string& x) {
    return g.node("Gemm", {x, g.weight("w", {4, 2}), g.weight("b", bias)}, {{"beta", beta}});
  };
}

// PyTorch's Linear of an input of more than two dimensions.
std::string matmul_and_bias(RowGraph& g, const std::string& x) {
  return g.node("Add", {g.weight("b", {3}), g.node("MatMul", {x, g.weight("w", {4, 3})})});
}

std::string product_of_activations(RowGraph& g, const std::string& x) {
  return g.node("MatMul", {x, g.node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}})});
}

// The axes are an operand from 13 on for ReduceSum, from 18 on for the others.
Build reduction(const std::string& op, const std::vector<int64_t>& axes, bool keeps) {
  return [=](RowGraph& g, const std::string& x) {
    return g.node_with_list(op, {x}, "axes", axes, op == "ReduceSum" ? 13 : 18, {{"keepdims", int64_t{keeps}}});
  };
}

// Without axes and with the flag nothing is reduced.
Build idle_reduction(const std::string& op) {
  return [=](RowGraph& g, const std::string& x) { return g.node(op, {x}, {{"noop_with_empty_axes", int64_t{1}}}); };
}

}  // namespace

std::vector<OperatorRow> arithmetic_rows() {
  const Shape kPlain{2, 3};
  std::vector<OperatorRow> rows;
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    rows.push_back({op, "a row", kPlain, with_weight(op, {3}, 0.5, 1.5)});
    rows.push_back({op, "a column", kPlain, with_weight(op, {2, 1}, 0.5, 1.5)});
    rows.push_back({op, "a number", kPlain, with_number(op, 1.7f)});
    rows.push_back({op, "channels of images", {2, 3, 3}, with_weight(op, {2, 1, 1}, 0.5, 1.5)});
  }
  rows.push_back({.op = "Sub", .form = "from a number", .input = kPlain, .build = with_number("Sub", 1.7f, true)});
  rows.push_back({.op = "Div",
                  .form = "of a number",
                  .input = kPlain,
                  .build = with_number("Div", 1.7f, true),
                  .low = 0.6,
                  .high = 2});
  for (const float exponent : {2.0f, 3.0f, 0.5f, -1.5f}) {
    rows.push_back({.op = "Pow",
                    .form = "to the " + std::to_string(exponent),
                    .input = kPlain,
                    .build = with_number("Pow", exponent),
                    .low = 0.6,
                    .high = 2});
  }
  rows.push_back({.op = "Pow",
                  .form = "trained",
                  .input = kPlain,
                  .build = with_weight("Pow", {3}, 0.5, 2.5),
                  .low = 0.6,
                  .high = 2});
  for (const float exponent : {2.0f, 3.0f}) {
    rows.push_back({"Pow", "of negative to the " + std::to_string(exponent), kPlain, with_number("Pow", exponent)});
  }
  rows.push_back({"Pow", "to integers", kPlain, power_of_an_integer, 12});
  for (const char* op : {"Sum", "Mean", "Min", "Max"}) {
    rows.push_back({op, "three", kPlain, of_three(op)});
    rows.push_back({op, "one", kPlain, of_one(op)});
  }
  for (const char* op : {"Less", "Greater"}) {
    rows.push_back({op, "floats", kPlain, comparison(op)});
    rows.push_back({op, "integers", kPlain, comparison_of_integers(op)});
  }
  for (const char* op : {"LessOrEqual", "GreaterOrEqual"}) {
    rows.push_back({op, "floats", kPlain, comparison(op), 12});
    rows.push_back({op, "integers", kPlain, comparison_of_integers(op), 12});
  }
  rows.push_back({"Equal", "integers", kPlain, comparison_of_integers("Equal")});
  rows.push_back({"Equal", "booleans", kPlain, comparison_of_booleans});
  rows.push_back({"Not", "", kPlain, negated});
  rows.push_back({"And", "of activations", kPlain, of_two_truths("And")});
  rows.push_back({"Or", "of activations", kPlain, of_two_truths("Or")});
  rows.push_back({"Where", "", kPlain, comparison("Less")});
  rows.push_back({"Where", "known", kPlain, chosen_by_a_table});

  rows.push_back({"Gemm", "transposed", {4}, gemm(true, true)});
  rows.push_back({"Gemm", "plain", {4}, gemm(false, false)});
  rows.push_back({"Gemm", "alpha and beta", {4}, gemm(true, true, 0.5f, 2)});
  rows.push_back({"Gemm", "untransposed attributes", {4}, gemm(false, true)});
  rows.push_back({"Gemm", "one bias for all", {4}, gemm_with_bias({1}, 1)});
  rows.push_back({"Gemm", "bias of two dimensions", {4}, gemm_with_bias({1, 2}, 1)});
  rows.push_back({"Gemm", "scaled bias", {4}, gemm_with_bias({2}, -0.5f)});
  rows.push_back({"MatMul", "and a bias", {2, 4}, matmul_and_bias});
  rows.push_back({"MatMul", "weight", {2, 4}, with_weight("MatMul", {4, 3}, -0.6, 0.6)});
  rows.push_back({"MatMul", "weight of a batch", {2, 2, 4}, with_weight("MatMul", {2, 4, 3}, -0.6, 0.6)});
  rows.push_back({"MatMul", "activations", kPlain, product_of_activations});

  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare"}) {
    rows.push_back({op, "last, kept", kPlain, reduction(op, {-1}, true)});
    rows.push_back({op, "inner, gone", {2, 3, 2}, reduction(op, {2}, false)});
    rows.push_back({op, "two of images", {2, 3, 3}, reduction(op, {2, 3}, true)});
    rows.push_back({op, "two, gone", {2, 3, 2}, reduction(op, {1, -1}, false)});
    rows.push_back({op, "no axes", kPlain, idle_reduction(op), op == std::string("ReduceSum") ? 13 : 18});
  }
  return rows;
}

}  // namespace coterie::model_import::matrix
