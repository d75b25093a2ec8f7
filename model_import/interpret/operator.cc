#include "model_import/interpret/operator.h"

#include <cmath>

namespace coterie::model_import {

Error bad_form(const std::string& why) { return Error(ErrorCode::malformed, why); }
Error unknown_form(const std::string& why) {
  return Error(ErrorCode::invalid_argument, why + ", which the interpreter does not know");
}

Status needs_operands(const Call& call, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!call.has(i)) return bad_form("its operand " + std::to_string(i) + " is missing");
  }
  return {};
}

Result<std::vector<int64_t>> integers_of(const Array& array) {
  if (array.element == Element::real || array.rank() > 1) return bad_form("an operand that is no list of integers");
  std::vector<int64_t> numbers;
  for (const double value : array.values) numbers.push_back(whole(value));
  return numbers;
}

Result<size_t> axis_of(int64_t axis, size_t rank) {
  const auto bound = static_cast<int64_t>(rank);
  if (axis < -bound || axis >= bound)
    return bad_form("axis " + std::to_string(axis) + " of a tensor of rank " + std::to_string(rank));
  return static_cast<size_t>(axis < 0 ? axis + bound : axis);
}

Result<std::vector<int64_t>> axes_given(const Call& call, size_t i, int64_t since) {
  if (call.opset < since) return call.node.integers("axes");
  if (!call.has(i)) return std::vector<int64_t>();
  return integers_of(call.operand(i));
}

Outputs one(Array array) {
  Outputs outputs;
  outputs.push_back(std::move(array));
  return outputs;
}

Result<const Graph*> body_of(const Call& call, const std::string& key) {
  const auto found = call.node.attributes.find(key);
  const Body* body = found == call.node.attributes.end() ? nullptr : std::get_if<Body>(&found->second);
  if (body == nullptr) return bad_form("no graph " + key);
  return body->get();
}

Result<bool> is_true(const Array& array) {
  if (array.form != Form::tensor || array.element != Element::boolean || array.size() != 1)
    return bad_form("a condition that is not one boolean");
  return array.values[0] != 0;
}

void become_whole(Array& array, Element element, Width width) {
  array.element = element;
  array.width = width;
  for (double& x : array.values) x = element == Element::boolean ? (x != 0 ? 1 : 0) : std::trunc(x);
}

}  // namespace coterie::model_import
