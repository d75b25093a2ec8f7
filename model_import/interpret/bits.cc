// Operators on the bits of integers, and Xor of booleans.
#include <map>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

using Bits = uint64_t (*)(uint64_t, uint64_t);

Bits function_of(const Call& call) {
  const bool is_left = call.node.text("direction", "") == "LEFT";
  const Bits left = [](uint64_t a, uint64_t b) { return b > 63 ? 0 : a << b; };
  const Bits right = [](uint64_t a, uint64_t b) { return b > 63 ? 0 : a >> b; };
  static const std::map<std::string, Bits> table = {
      {"Xor", [](uint64_t a, uint64_t b) { return static_cast<uint64_t>((a != 0) != (b != 0)); }},
      {"BitwiseXor", [](uint64_t a, uint64_t b) { return a ^ b; }},
      {"BitwiseAnd", [](uint64_t a, uint64_t b) { return a & b; }},
      {"BitwiseOr", [](uint64_t a, uint64_t b) { return a | b; }},
  };
  if (call.node.op == "BitShift") return is_left ? left : right;
  return table.at(call.node.op);
}

uint64_t bits_of(double value) { return static_cast<uint64_t>(whole(value)); }
double number_of(uint64_t bits) { return static_cast<double>(static_cast<int64_t>(bits)); }

Result<Outputs> compute_pair(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &a = call.operand(0), &b = call.operand(1);
  if (a.element == Element::real || b.element != a.element)
    return bad_form("operands that are not of one integer type");
  COT_ASSIGN(Shape shape, broadcast_shape(a.shape, b.shape));
  COT_ASSIGN(Array y, zeros_like(a, std::move(shape)));
  const Bits function = function_of(call);
  for_each_index(y.shape, [&](const Index& index, size_t i) {
    y.values[i] = number_of(function(bits_of(a.values[broadcast_offset(a.shape, index)]),
                                     bits_of(b.values[broadcast_offset(b.shape, index)])));
  });
  return one(std::move(y));
}

Result<Outputs> compute_not(const Call& call) {
  Array y = call.operand(0);
  // An unsigned number of more bits than 8 is not told from an int64.
  if (y.element == Element::integer && y.width == Width::any) return unknown_form("integers of that width");
  if (y.element != Element::integer) return bad_form("an operand that is not of integers");
  for (double& value : y.values) value = -value - 1;
  return one(std::move(y));
}

}  // namespace

Operator bits_operator(const std::string& op) {
  if (op == "BitwiseNot") return compute_not;
  return op == "Xor" || op == "BitShift" || op == "BitwiseXor" || op == "BitwiseAnd" || op == "BitwiseOr" ? compute_pair
                                                                                                          : nullptr;
}

}  // namespace coterie::model_import
