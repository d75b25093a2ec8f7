// Element-wise kernels by the definition. Contracts: tables/elementwise.h.
#pragma once

#include "train_kernels/shapes.h"
#include "train_kernels/tables/elementwise.h"

namespace coterie::kernels::reference {

template <typename T>
void relu_forward(size_t n, const T* x, T* y) {
  for (size_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? T(0) : x[i];
}

template <typename T>
void relu_backward(size_t n, const T* y, const T* dy, T* dx) {
  for (size_t i = 0; i < n; ++i) dx[i] = y[i] > 0 ? dy[i] : T(0);
}

template <typename T>
void add(size_t n, const T* a, const T* b, T* y) {
  for (size_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

template <typename T>
void accumulate(size_t n, const T* x, T* y) {
  for (size_t i = 0; i < n; ++i) y[i] += x[i];
}

template <typename T>
void fill_elementwise(ElementwiseKernels<T>& table) {
  table.relu_forward = relu_forward<T>;
  table.relu_backward = relu_backward<T>;
  table.add = add<T>;
  table.accumulate = accumulate<T>;
}

}  // namespace coterie::kernels::reference
