// Two operands element by element. Private to the reference.
#pragma once

#include <algorithm>

#include "model_import/tflite_reference/kernel_call.h"

namespace coterie::model_import {

// The element of a tensor of shape `from` that meets the element `at` of one of shape `to`.
inline size_t met_by(const Shape& from, const Shape& to, size_t at) {
  size_t place = 0, step = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t d = to.size() - 1 - i;
    const size_t index = at % static_cast<size_t>(to[d]);
    at /= static_cast<size_t>(to[d]);
    if (i >= from.size()) continue;
    const auto size = static_cast<size_t>(from[from.size() - 1 - i]);
    if (size != 1) place += index * step;
    step *= size;
  }
  return place;
}

// Errors: malformed (shapes that do not broadcast to the output's).
inline Status check_broadcast(const KernelCall& call) {
  const Shape &a = call.tensor(0).shape, &b = call.tensor(1).shape, &y = call.output().shape;
  if (y.size() != std::max(a.size(), b.size())) return bad_form("an output of another rank than its operands give");
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t p = i < a.size() ? a[a.size() - 1 - i] : 1, q = i < b.size() ? b[b.size() - 1 - i] : 1;
    if ((p != q && p != 1 && q != 1) || y[y.size() - 1 - i] != std::max(p, q)) {
      return bad_form("operands whose shapes do not meet");
    }
  }
  return {};
}

// One integer of each.
template <typename Function>
Result<TfliteArray> broadcast(const KernelCall& call, Function&& function) {
  COT_TRY(check_broadcast(call));
  COT_ASSIGN(TfliteArray y, zeros_of(call.output()));
  for (size_t i = 0; i < y.integers.size(); ++i) {
    y.integers[i] = function(call.operand(0).integers[met_by(call.tensor(0).shape, y.shape, i)],
                             call.operand(1).integers[met_by(call.tensor(1).shape, y.shape, i)]);
  }
  return y;
}

}  // namespace coterie::model_import
