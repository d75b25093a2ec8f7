// Operators that make tensors of numbers that nobody gave.
#include <algorithm>
#include <cmath>
#include <variant>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

// Without a value: the float 0.
Result<Outputs> compute_constant_of_shape(const Call& call) {
  COT_ASSIGN(Shape shape, integers_of(call.operand(0)));
  COT_ASSIGN(Array y, zeros(Element::real, std::move(shape)));
  const auto value = call.node.attributes.find("value");
  if (value == call.node.attributes.end()) return one(std::move(y));
  const auto* tensor = std::get_if<HostTensor>(&value->second);
  if (tensor == nullptr) return bad_form("a value that is no tensor");
  COT_ASSIGN(const Array given, array_of(*tensor));
  if (given.size() != 1) return bad_form("a value that is not one number");
  y.element = given.element;
  y.width = given.width;
  std::ranges::fill(y.values, given.values[0]);
  return one(std::move(y));
}

// 1 on a diagonal; the type is the operand's, or float, int64 or whichever `dtype` says.
Result<Outputs> compute_eye_like(const Call& call) {
  const Array& x = call.operand(0);
  if (x.rank() != 2) return bad_form("an operand that is no matrix");
  constexpr int64_t kFloat = 1, kInt32 = 6, kInt64 = 7, kDouble = 11;  // TensorProto.DataType
  const int64_t type = call.node.integer("dtype", 0), diagonal = call.node.integer("k", 0);
  COT_ASSIGN(Array y, zeros_like(x, x.shape));
  if (type == kFloat || type == kDouble || type == kInt32 || type == kInt64) {
    y.element = type == kFloat || type == kDouble ? Element::real : Element::integer;
    y.width = type == kInt32 ? Width::int32 : Width::any;
  } else if (type != 0) {
    return unknown_form("dtype " + std::to_string(type));
  }
  for_each_index(y.shape, [&](const Index& index, size_t i) { y.values[i] = index[1] - index[0] == diagonal ? 1 : 0; });
  return one(std::move(y));
}

// start, start + step, ... before end
Result<Outputs> compute_range(const Call& call) {
  COT_TRY(needs_operands(call, 3));
  for (const size_t i : {0u, 1u, 2u}) {
    if (call.operand(i).size() != 1) return bad_form("an operand that is not one number");
  }
  const double start = call.operand(0).values[0], end = call.operand(1).values[0], step = call.operand(2).values[0];
  const double count = std::max(0.0, std::ceil((end - start) / step));
  if (!(count <= static_cast<double>(kArrayElementsMax))) return bad_form("a range without end");
  COT_ASSIGN(Array y, zeros_like(call.operand(0), {whole(count)}));
  for (size_t i = 0; i < y.values.size(); ++i) y.values[i] = start + static_cast<double>(i) * step;
  return one(std::move(y));
}

}  // namespace

Operator fill_operator(const std::string& op) {
  if (op == "ConstantOfShape") return compute_constant_of_shape;
  if (op == "EyeLike") return compute_eye_like;
  return op == "Range" ? compute_range : nullptr;
}

}  // namespace coterie::model_import
