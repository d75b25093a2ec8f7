// QuantizeLinear and DequantizeLinear: numbers onto a grid of int8 or uint8, and back.
#include <algorithm>
#include <cmath>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// The element of a scale or zero point that belongs to an index: one for all, or one for each place on the axis.
Result<std::vector<double>> by_element(const Call& call, size_t operand, const Shape& shape) {
  const Array& given = call.operand(operand);
  size_t count = 1;
  for (const int64_t dimension : shape) count *= static_cast<size_t>(dimension);
  if (given.values.size() == 1) return std::vector<double>(count, given.values[0]);
  if (given.rank() != 1) return unknown_form("a scale or zero point by blocks");
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", 1), shape.size()));
  if (given.size() != shape[axis]) return bad_form("a scale or zero point that does not fit its axis");
  std::vector<double> values(count);
  for_each_index(shape,
                 [&](const Index& index, size_t i) { values[i] = given.values[static_cast<size_t>(index[axis])]; });
  return values;
}

struct Grids {
  std::vector<double> scales, zeros;
};

Result<Grids> grids_of(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Shape& shape = call.operand(0).shape;
  Grids grids;
  COT_ASSIGN(grids.scales, by_element(call, 1, shape));
  if (!call.has(2)) {
    grids.zeros.assign(grids.scales.size(), 0.0);
    return grids;
  }
  COT_ASSIGN(grids.zeros, by_element(call, 2, shape));
  return grids;
}

Result<Outputs> quantise(const Call& call) {
  COT_ASSIGN(const Grids grids, grids_of(call));
  const Width width = call.has(2) ? call.operand(2).width : Width::uint8;
  if (width != Width::int8 && width != Width::uint8) return unknown_form("a grid that is neither int8 nor uint8");
  const double low = width == Width::int8 ? -128 : 0, high = width == Width::int8 ? 127 : 255;
  Array y = call.operand(0);
  y.element = Element::integer;
  y.width = width;
  for (size_t i = 0; i < y.values.size(); ++i) {
    double quotient = y.values[i] / grids.scales[i];
    // Ties are those of float32.
    if (call.intent != Intent::prediction) quotient = static_cast<double>(static_cast<float>(quotient));
    y.values[i] = std::clamp(std::nearbyint(quotient) + grids.zeros[i], low, high);
  }
  return one(std::move(y));
}

Result<Outputs> dequantise(const Call& call) {
  COT_ASSIGN(const Grids grids, grids_of(call));
  Array y = call.operand(0);
  y.element = Element::real;
  y.width = Width::any;
  for (size_t i = 0; i < y.values.size(); ++i) y.values[i] = grids.scales[i] * (y.values[i] - grids.zeros[i]);
  return one(std::move(y));
}

}  // namespace

Operator quantise_operator(const std::string& op) {
  if (op == "QuantizeLinear") return quantise;
  if (op == "DequantizeLinear") return dequantise;
  return nullptr;
}

}  // namespace coterie::model_import
