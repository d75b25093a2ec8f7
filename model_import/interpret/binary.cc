// Operators of several operands that broadcast.
#include <cmath>
#include <map>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

using Pair = double (*)(double, double);

double truth(bool is_true) { return is_true ? 1.0 : 0.0; }

Pair comparison(const std::string& op) {
  static const std::map<std::string, Pair> table = {
      {"And", [](double a, double b) { return truth(a != 0 && b != 0); }},
      {"Or", [](double a, double b) { return truth(a != 0 || b != 0); }},
      {"Equal", [](double a, double b) { return truth(a == b); }},
      {"Less", [](double a, double b) { return truth(a < b); }},
      {"LessOrEqual", [](double a, double b) { return truth(a <= b); }},
      {"Greater", [](double a, double b) { return truth(a > b); }},
      {"GreaterOrEqual", [](double a, double b) { return truth(a >= b); }},
  };
  return entry_of(table, op);
}

Pair arithmetic(const std::string& op) {
  static const std::map<std::string, Pair> table = {
      {"Add", [](double a, double b) { return a + b; }},          {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},          {"Div", [](double a, double b) { return a / b; }},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
  };
  return entry_of(table, op);
}

// Any number of operands, one after the other.
Pair variadic(const std::string& op) {
  static const std::map<std::string, Pair> table = {
      {"Sum", [](double a, double b) { return a + b; }},
      {"Mean", [](double a, double b) { return a + b; }},
      {"Min", [](double a, double b) { return b < a || std::isnan(b) ? b : a; }},
      {"Max", [](double a, double b) { return b > a || std::isnan(b) ? b : a; }},
  };
  return entry_of(table, op);
}

Result<Array> combined(const Array& a, const Array& b, Pair function, Element element) {
  COT_ASSIGN(Shape shape, broadcast_shape(a.shape, b.shape));
  COT_ASSIGN(Array y, zeros(element, std::move(shape)));
  if (element == a.element) y.width = a.width;
  for_each_index(y.shape, [&](const Index& index, size_t i) {
    y.values[i] = function(a.values[broadcast_offset(a.shape, index)], b.values[broadcast_offset(b.shape, index)]);
  });
  return y;
}

Result<Outputs> compute_comparison(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  COT_ASSIGN(Array y, combined(call.operand(0), call.operand(1), comparison(call.node.op), Element::boolean));
  return one(std::move(y));
}

Result<Outputs> compute_arithmetic(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &a = call.operand(0), &b = call.operand(1);
  if (a.element != Element::real && call.node.op == "Div") {
    for (const double divisor : b.values) {
      if (divisor == 0) return bad_form("divides an integer by 0");
    }
  }
  COT_ASSIGN(Array y, combined(a, b, arithmetic(call.node.op), a.element));
  // Integers are divided towards zero.
  if (y.element != Element::real) {
    for (double& value : y.values) value = std::trunc(value);
  }
  return one(std::move(y));
}

// With fmod the sign is the dividend's, without (integers alone) the divisor's.
Result<Outputs> compute_mod(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &a = call.operand(0), &b = call.operand(1);
  const bool is_fmod = call.node.integer("fmod", 0) != 0;
  if (a.element == Element::real && !is_fmod) return bad_form("floats need fmod = 1");
  const Pair function = is_fmod ? Pair([](double x, double y) { return std::fmod(x, y); })
                                : Pair([](double x, double y) { return x - y * std::floor(x / y); });
  COT_ASSIGN(Array y, combined(a, b, function, a.element));
  return one(std::move(y));
}

Result<Outputs> compute_variadic(const Call& call) {
  COT_TRY(needs_operands(call, call.node.inputs.size()));
  Array y = call.operand(0);
  for (size_t i = 1; i < call.operands.size(); ++i) {
    COT_ASSIGN(y, combined(y, call.operand(i), variadic(call.node.op), y.element));
  }
  if (call.node.op == "Mean") {
    for (double& value : y.values) value /= static_cast<double>(call.operands.size());
  }
  return one(std::move(y));
}

Result<Outputs> compute_where(const Call& call) {
  COT_TRY(needs_operands(call, 3));
  const Array &condition = call.operand(0), &a = call.operand(1), &b = call.operand(2);
  COT_ASSIGN(Shape shape, broadcast_shape(a.shape, b.shape));
  COT_ASSIGN(shape, broadcast_shape(shape, condition.shape));
  COT_ASSIGN(Array y, zeros_like(a, std::move(shape)));
  for_each_index(y.shape, [&](const Index& index, size_t i) {
    const Array& from = condition.values[broadcast_offset(condition.shape, index)] != 0 ? a : b;
    y.values[i] = from.values[broadcast_offset(from.shape, index)];
  });
  return one(std::move(y));
}

}  // namespace

Operator binary_operator(const std::string& op) {
  if (comparison(op) != nullptr) return compute_comparison;
  if (arithmetic(op) != nullptr) return compute_arithmetic;
  if (variadic(op) != nullptr) return compute_variadic;
  if (op == "Mod") return compute_mod;
  return op == "Where" ? compute_where : nullptr;
}

}  // namespace coterie::model_import
