// Optimizer steps by the definition. Contracts: tables/optimizer.h.
#pragma once

#include <cmath>

#include "train_kernels/shapes.h"
#include "train_kernels/tables/optimizer.h"

namespace coterie::kernels::reference {

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

template <typename T>
void fill_optimizer(OptimizerKernels<T>& table) {
  table.sgd_step = sgd_step<T>;
  table.adam_step = adam_step<T>;
}

}  // namespace coterie::kernels::reference
