// Products of integers of 8 bits: MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv, and DynamicQuantizeLinear.
#include <algorithm>
#include <cmath>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// x - zero point, which is one number, or one for each place of `axis`.
Result<Array> without_zero(const Call& call, size_t operand, size_t zero, size_t axis) {
  Array x = call.operand(operand);
  x.width = Width::any;
  x.element = Element::real;
  if (!call.has(zero)) return x;
  const Array& z = call.operand(zero);
  if (z.size() != 1 && (axis >= x.rank() || z.size() != x.shape[axis]))
    return unknown_form("zero points of that shape");
  for_each_index(x.shape, [&](const Index& index, size_t i) {
    x.values[i] -= z.values[z.size() == 1 ? 0 : static_cast<size_t>(index[axis])];
  });
  return x;
}

Result<Array> product_of(const Call& call, const char* op, const Array& a, const Array& b) {
  Node node = call.node;
  node.op = op;
  const Call inner{node, call.opset, {&a, &b}, call.intent};
  COT_ASSIGN(Outputs outputs, (op == std::string("Conv") ? convolution_operator : matrix_operator)(op)(inner));
  return std::move(outputs[0]);
}

// a, b, their zero points
Result<Outputs> compute_integer(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const bool is_conv = call.node.op == "ConvInteger";
  const size_t rank = call.operand(0).rank();
  COT_ASSIGN(const Array a, without_zero(call, 0, 2, rank < 2 ? 0 : rank - 2));
  COT_ASSIGN(const Array b, without_zero(call, 1, 3, is_conv ? 0 : call.operand(1).rank() - 1));
  COT_ASSIGN(Array y, product_of(call, is_conv ? "Conv" : "MatMul", a, b));
  y.element = Element::integer;
  y.width = Width::int32;
  return one(std::move(y));
}

// a, scale, zero; b, scale, zero; the result's scale and zero; of QLinearConv a bias on the scale of both.
Result<Outputs> compute_qlinear(const Call& call) {
  COT_TRY(needs_operands(call, 8));
  const bool is_conv = call.node.op == "QLinearConv";
  const size_t rank = call.operand(0).rank();
  const size_t axis_a = rank < 2 ? 0 : rank - 2, axis_b = is_conv ? 0 : call.operand(3).rank() - 1;
  COT_ASSIGN(const Array a, without_zero(call, 0, 2, axis_a));
  COT_ASSIGN(const Array b, without_zero(call, 3, 5, axis_b));
  COT_ASSIGN(Array y, product_of(call, is_conv ? "Conv" : "MatMul", a, b));
  const Array &scale_a = call.operand(1), &scale_b = call.operand(4), &zero = call.operand(7);
  if (y.rank() < 2 || scale_a.size() != 1 || call.operand(6).size() != 1 || zero.size() != 1)
    return unknown_form("scales or zero points by row");
  const size_t axis_y = is_conv ? 1 : y.rank() - 1;
  if (scale_b.size() != 1 && scale_b.size() != y.shape[axis_y]) return bad_form("not one scale a channel");
  if (call.has(8) && call.operand(8).size() != y.shape[axis_y]) return bad_form("not one bias a channel");
  if (zero.width != Width::int8 && zero.width != Width::uint8) return unknown_form("a grid that is not of 8 bits");
  const double low = zero.width == Width::int8 ? -128 : 0;
  for_each_index(y.shape, [&](const Index& index, size_t i) {
    const auto channel = static_cast<size_t>(index[axis_y]);
    const double sum = y.values[i] + (call.has(8) ? call.operand(8).values[channel] : 0);
    const double scale =
        scale_a.values[0] * scale_b.values[scale_b.size() == 1 ? 0 : channel] / call.operand(6).values[0];
    y.values[i] = std::clamp(std::nearbyint(sum * scale) + zero.values[0], low, low + 255);
  });
  y.element = Element::integer;
  y.width = zero.width;
  return one(std::move(y));
}

// Onto uint8 by the operand's own range, which 0 is in; also scale and zero point. In float32, as its ties are.
Result<Outputs> compute_dynamic(const Call& call) {
  Array y = call.operand(0);
  double low = 0, high = 0;
  for (const double x : y.values) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  const auto scale = static_cast<double>(static_cast<float>((high - low) / 255));
  if (!(scale > 0)) return bad_form("an operand without a range");
  const double zero = std::clamp(std::nearbyint(-low / scale), 0.0, 255.0);
  for (double& x : y.values)
    x = std::clamp(std::nearbyint(static_cast<double>(static_cast<float>(x / scale))) + zero, 0.0, 255.0);
  y.element = Element::integer;
  y.width = Width::uint8;
  Outputs outputs = one(std::move(y));
  outputs.push_back({Element::real, {}, {scale}});
  outputs.push_back({Element::integer, {}, {zero}, Width::uint8});
  return outputs;
}

}  // namespace

Operator integer_product_operator(const std::string& op) {
  if (op == "MatMulInteger" || op == "ConvInteger") return compute_integer;
  if (op == "QLinearMatMul" || op == "QLinearConv") return compute_qlinear;
  return op == "DynamicQuantizeLinear" ? compute_dynamic : nullptr;
}

}  // namespace coterie::model_import
