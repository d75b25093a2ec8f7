// Dense layer by the definition. Contracts: tables/dense.h.
#pragma once

#include "train_kernels/shapes.h"
#include "train_kernels/tables/dense.h"

namespace coterie::kernels::reference {

// ReLU keeps NaN, so that a diverged network shows in its loss.
template <typename T>
T activate(T value, Activation activation) {
  if (activation != Activation::none && value < 0) return T(0);
  return activation == Activation::relu6 && value > 6 ? T(6) : value;
}

// Prepared weights are a copy of w.
template <typename T>
void dense_prepare_forward(const DenseShape& s, Range rows, const T* w, T* prepared) {
  for (size_t i = rows.begin * s.out; i < rows.end * s.out; ++i) prepared[i] = w[i];
}

template <typename T>
void dense_prepare_backward_input(const DenseShape& s, Range columns, const T* w, T* prepared) {
  for (size_t i = 0; i < s.in; ++i) {
    for (size_t o = columns.begin; o < columns.end; ++o) prepared[i * s.out + o] = w[i * s.out + o];
  }
}

template <typename T>
void dense_forward(const DenseShape& s, Range columns, const T* x, const T* w, const T* prepared, const T* bias,
                   Activation activation, T* y, void*) {
  if (prepared != nullptr) w = prepared;
  for (size_t b = 0; b < s.batch; ++b) {
    for (size_t o = columns.begin; o < columns.end; ++o) {
      T sum = bias == nullptr ? T(0) : bias[o];
      for (size_t i = 0; i < s.in; ++i) sum += x[b * s.in + i] * w[i * s.out + o];
      y[b * s.out + o] = activate(sum, activation);
    }
  }
}

template <typename T>
void dense_backward_input(const DenseShape& s, Range columns, const T* dy, const T* w, const T* prepared, T* dx,
                          void*) {
  if (prepared != nullptr) w = prepared;
  for (size_t b = 0; b < s.batch; ++b) {
    for (size_t i = columns.begin; i < columns.end; ++i) {
      T sum = 0;
      for (size_t o = 0; o < s.out; ++o) sum += dy[b * s.out + o] * w[i * s.out + o];
      dx[b * s.in + i] = sum;
    }
  }
}

template <typename T>
void dense_backward_weights_part(const DenseShape& s, Range rows, const T* x, const T* dy, T* dw, T* dbias, void*) {
  for (size_t i = rows.begin; i < rows.end; ++i) {
    for (size_t o = 0; o < s.out; ++o) {
      T sum = 0;
      for (size_t b = 0; b < s.batch; ++b) sum += x[b * s.in + i] * dy[b * s.out + o];
      dw[i * s.out + o] = sum;
    }
  }
  if (dbias == nullptr) return;
  for (size_t o = 0; o < s.out; ++o) {
    T sum = 0;
    for (size_t b = 0; b < s.batch; ++b) sum += dy[b * s.out + o];
    dbias[o] = sum;
  }
}

template <typename T>
void dense_backward_weights(const DenseShape& s, const T* x, const T* dy, T* dw, T* dbias, void* workspace) {
  dense_backward_weights_part(s, {0, s.in}, x, dy, dw, dbias, workspace);
}

template <typename T>
void fill_dense(DenseKernels<T>& table) {
  table.dense_prepare_forward = dense_prepare_forward<T>;
  table.dense_prepare_backward_input = dense_prepare_backward_input<T>;
  table.dense_forward = dense_forward<T>;
  table.dense_backward_input = dense_backward_input<T>;
  table.dense_backward_weights = dense_backward_weights<T>;
  table.dense_backward_weights_part = dense_backward_weights_part<T>;
}

}  // namespace coterie::kernels::reference
