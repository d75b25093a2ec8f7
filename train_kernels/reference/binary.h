// Functions of two variables by the definition. Contracts: tables/binary.h.
#pragma once

#include <algorithm>
#include <cmath>

#include "train_kernels/tables/binary.h"

namespace coterie::kernels::reference {

template <typename T>
T binary_value(Binary kind, T a, T b) {
  switch (kind) {
    case Binary::add: return a + b;
    case Binary::sub: return a - b;
    case Binary::mul: return a * b;
    case Binary::div: return a / b;
    case Binary::pow: return std::pow(a, b);
    case Binary::minimum: return std::min(a, b);
    case Binary::maximum: return std::max(a, b);
  }
  return a;
}

// The derivative by operand 0 (a) or 1 (b).
template <typename T>
T binary_slope(Binary kind, size_t operand, T a, T b) {
  const bool by_a = operand == 0;
  switch (kind) {
    case Binary::add: return T(1);
    case Binary::sub: return by_a ? T(1) : T(-1);
    case Binary::mul: return by_a ? b : a;
    case Binary::div: return by_a ? 1 / b : -a / b / b;
    case Binary::pow:
      if (by_a) return b == 0 ? T(0) : b * std::pow(a, b - 1);
      return a == 0 && b >= 0 ? T(0) : std::pow(a, b) * std::log(a);
    case Binary::minimum: return a == b ? T(0.5) : T((a < b) == by_a);
    case Binary::maximum: return a == b ? T(0.5) : T((a > b) == by_a);
  }
  return T(1);
}

// visit(walk) for each element.
template <size_t kOperands, class Visit>
void for_each_element(const StridedLoops<kOperands>& loops, const Visit& visit) {
  if (loops.count() == 0) return;
  StridedWalk<kOperands> walk(loops, loops.rank);
  do visit(walk);
  while (walk.next());
}

template <typename T>
void binary_forward(Binary kind, const BinaryLoops& loops, const T* a, const T* b, T* y) {
  for_each_element(loops,
                   [&](const auto& at) { y[at.offset(2)] = binary_value(kind, a[at.offset(0)], b[at.offset(1)]); });
}

template <typename T>
void binary_backward(Binary kind, size_t operand, const BinaryLoops& loops, const T* a, const T* b, const T* dy,
                     T* gradient) {
  const bool reads = kind != Binary::add && kind != Binary::sub;
  const bool reads_a = reads && !(kind == Binary::mul && operand == 0);
  const bool reads_b = reads && !(kind == Binary::mul && operand == 1);
  for_each_element(loops, [&](const auto& at) { gradient[at.offset(operand)] = 0; });
  for_each_element(loops, [&](const auto& at) {
    const T left = reads_a ? a[at.offset(0)] : T(0), right = reads_b ? b[at.offset(1)] : T(0);
    gradient[at.offset(operand)] += dy[at.offset(2)] * binary_slope(kind, operand, left, right);
  });
}

template <typename T>
void fill_binary(BinaryKernels<T>& table) {
  table.binary_forward = binary_forward<T>;
  table.binary_backward = binary_backward<T>;
}

}  // namespace coterie::kernels::reference
