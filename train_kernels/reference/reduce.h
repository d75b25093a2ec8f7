// Reductions by the definition. Contracts: tables/reduce.h.
#pragma once

#include <algorithm>
#include <cmath>

#include "train_kernels/reference/binary.h"
#include "train_kernels/tables/reduce.h"

namespace coterie::kernels::reference {

// How many values are reduced to one.
inline size_t reduced_count(const ReductionLoops& loops) {
  size_t count = 1;
  for (size_t d = 0; d < loops.rank; ++d) count *= loops.stride[1][d] == 0 ? loops.size[d] : 1;
  return count;
}

// The loops over the results alone.
inline ReductionLoops kept_loops(const ReductionLoops& loops) {
  ReductionLoops kept = loops;
  for (size_t d = 0; d < loops.rank; ++d) kept.size[d] = loops.stride[1][d] == 0 ? 1 : loops.size[d];
  return kept;
}

template <typename T>
void reduce_forward(Reduction kind, const ReductionLoops& loops, const T* x, T* y) {
  const bool extreme = kind == Reduction::max || kind == Reduction::min;
  for_each_element(kept_loops(loops), [&](const auto& at) { y[at.offset(1)] = extreme ? x[at.offset(0)] : T(0); });
  for_each_element(loops, [&](const auto& at) {
    T& result = y[at.offset(1)];
    const T value = x[at.offset(0)];
    if (kind == Reduction::max) result = std::max(result, value);
    else if (kind == Reduction::min) result = std::min(result, value);
    else result += kind == Reduction::l2 ? value * value : value;
  });
  for_each_element(kept_loops(loops), [&](const auto& at) {
    if (kind == Reduction::mean) y[at.offset(1)] /= T(reduced_count(loops));
    if (kind == Reduction::l2) y[at.offset(1)] = std::sqrt(y[at.offset(1)]);
  });
}

// dx of the first of equals: every result looks for its own.
template <typename T>
void extreme_backward(const ReductionLoops& loops, const T* x, const T* y, const T* dy, T* dx) {
  for_each_element(loops, [&](const auto& at) { dx[at.offset(0)] = 0; });
  ReductionLoops reduced = loops;
  for (size_t d = 0; d < loops.rank; ++d) reduced.size[d] = loops.stride[1][d] == 0 ? loops.size[d] : 1;
  for_each_element(kept_loops(loops), [&](const auto& result) {
    bool found = false;
    for_each_element(reduced, [&](const auto& at) {
      const ptrdiff_t i = result.offset(0) + at.offset(0);
      if (found || x[i] != y[result.offset(1)]) return;
      dx[i] = dy[result.offset(1)];
      found = true;
    });
  });
}

template <typename T>
void reduce_backward(Reduction kind, const ReductionLoops& loops, const T* x, const T* y, const T* dy, T* dx) {
  if (kind == Reduction::max || kind == Reduction::min) return extreme_backward(loops, x, y, dy, dx);
  for_each_element(loops, [&](const auto& at) {
    T gradient = dy[at.offset(1)];
    if (kind == Reduction::mean) gradient /= T(reduced_count(loops));
    if (kind == Reduction::l2) gradient = y[at.offset(1)] == 0 ? T(0) : gradient * x[at.offset(0)] / y[at.offset(1)];
    dx[at.offset(0)] = gradient;
  });
}

template <typename T>
void fill_reduce(ReduceKernels<T>& table) {
  table.reduce_forward = reduce_forward<T>;
  table.reduce_backward = reduce_backward<T>;
}

}  // namespace coterie::kernels::reference
