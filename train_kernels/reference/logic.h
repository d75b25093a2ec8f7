// Choosing, comparing, truth values and conversions by the definition. Contracts: tables/logic.h.
#pragma once

#include <limits>

#include "train_kernels/reference/binary.h"
#include "train_kernels/tables/logic.h"

namespace coterie::kernels::reference {

template <typename T>
void where_forward(const WhereLoops& loops, const int32_t* condition, const T* a, const T* b, T* y) {
  for_each_element(loops, [&](const auto& at) {
    y[at.offset(3)] = condition[at.offset(0)] != 0 ? a[at.offset(1)] : b[at.offset(2)];
  });
}

template <typename T>
void where_backward(const WhereLoops& loops, size_t operand, const int32_t* condition, const T* dy, T* gradient) {
  for_each_element(loops, [&](const auto& at) { gradient[at.offset(operand)] = 0; });
  for_each_element(loops, [&](const auto& at) {
    if ((condition[at.offset(0)] != 0) == (operand == 1)) gradient[at.offset(operand)] += dy[at.offset(3)];
  });
}

template <typename T>
void compare(Comparison kind, const BinaryLoops& loops, const T* a, const T* b, int32_t* y) {
  for_each_element(loops, [&](const auto& at) {
    const T left = a[at.offset(0)], right = b[at.offset(1)];
    bool holds = false;
    switch (kind) {
      case Comparison::equal: holds = left == right; break;
      case Comparison::less: holds = left < right; break;
      case Comparison::less_or_equal: holds = left <= right; break;
      case Comparison::greater: holds = left > right; break;
      case Comparison::greater_or_equal: holds = left >= right; break;
    }
    y[at.offset(2)] = holds ? 1 : 0;
  });
}

inline void logical(Logical kind, const BinaryLoops& loops, const int32_t* a, const int32_t* b, int32_t* y) {
  for_each_element(loops, [&](const auto& at) {
    const bool left = a[at.offset(0)] != 0, right = b[at.offset(1)] != 0;
    bool holds = left != right;
    if (kind == Logical::conjunction) holds = left && right;
    if (kind == Logical::disjunction) holds = left || right;
    y[at.offset(2)] = holds ? 1 : 0;
  });
}

inline void logical_not(size_t n, const int32_t* x, int32_t* y) {
  for (size_t i = 0; i < n; ++i) y[i] = x[i] == 0 ? 1 : 0;
}

template <typename T>
void to_int32(size_t n, const T* x, int32_t* y) {
  for (size_t i = 0; i < n; ++i) {
    y[i] = 0;
    if (x[i] >= T(0x1p31)) y[i] = std::numeric_limits<int32_t>::max();
    else if (x[i] <= T(-0x1p31)) y[i] = std::numeric_limits<int32_t>::min();
    else if (x[i] == x[i]) y[i] = static_cast<int32_t>(x[i]);
  }
}

template <typename T>
void from_int32(size_t n, const int32_t* x, T* y) {
  for (size_t i = 0; i < n; ++i) y[i] = static_cast<T>(x[i]);
}

template <typename T>
void fill_logic(LogicKernels<T>& table) {
  table.where_forward = where_forward<T>;
  table.where_backward = where_backward<T>;
  table.compare = compare<T>;
  table.logical = logical;
  table.logical_not = logical_not;
  table.to_int32 = to_int32<T>;
  table.from_int32 = from_int32<T>;
}

}  // namespace coterie::kernels::reference
