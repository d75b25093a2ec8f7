// Element-wise kernels and optimizer steps by the definition. Contracts: kernel_table.h.
#pragma once

#include <cmath>

#include "train_kernels/shapes.h"

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
void sgd_step(size_t n, const SgdStep& step, const T* g, T* w, T* v) {
  for (size_t i = 0; i < n; ++i) {
    T change = g[i] + T(step.weight_decay) * w[i];
    if (v != nullptr) change = v[i] = T(step.momentum) * v[i] + change;
    w[i] -= T(step.learning_rate) * change;
  }
}

template <typename T>
void adam_step(size_t n, const AdamStep& step, const T* g, T* w, T* m, T* v) {
  const T beta1 = T(step.beta1), beta2 = T(step.beta2);
  for (size_t i = 0; i < n; ++i) {
    const T gradient = g[i] + T(step.weight_decay) * w[i];
    m[i] = beta1 * m[i] + (1 - beta1) * gradient;
    v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient;
    w[i] -= T(step.step_size) * m[i] / (std::sqrt(v[i]) * T(step.v_scale) + T(step.epsilon));
  }
}

}  // namespace coterie::kernels::reference
