// Optimizer steps by the definition. Contracts: tables/optimizer.h.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/linear/inverse_root.h"
#include "train_kernels/shapes.h"
#include "train_kernels/tables/optimizer.h"

namespace coterie::kernels::reference {

template <typename T>
void sgd_step(size_t n, const SgdStep& step, const T* g, T* w, T* v) {
  for (size_t i = 0; i < n; ++i) {
    T change = g[i] + T(step.weight_decay) * w[i];
    if (v != nullptr) {
      v[i] = T(step.momentum) * v[i] + change;
      change = step.nesterov ? change + T(step.momentum) * v[i] : v[i];
    }
    w[i] -= T(step.learning_rate) * change;
  }
}

// m and v after gradient g.
template <typename T>
void update_moments(T beta1, T beta2, T g, T& m, T& v) {
  m = beta1 * m + (1 - beta1) * g;
  v = beta2 * v + (1 - beta2) * g * g;
}

template <typename T>
void adam_step(size_t n, const AdamStep& step, const T* g, T* w, T* m, T* v) {
  for (size_t i = 0; i < n; ++i) {
    update_moments(T(step.beta1), T(step.beta2), g[i] + T(step.weight_decay) * w[i], m[i], v[i]);
    w[i] -= T(step.step_size) * m[i] / (std::sqrt(v[i]) * T(step.v_scale) + T(step.epsilon));
  }
}

template <typename T>
void adamw_step(size_t n, const AdamWStep& step, const T* g, T* w, T* m, T* v) {
  for (size_t i = 0; i < n; ++i) {
    update_moments(T(step.beta1), T(step.beta2), g[i], m[i], v[i]);
    w[i] -= T(step.decay) * w[i];
    w[i] -= T(step.step_size) * m[i] / (std::sqrt(v[i]) * T(step.v_scale) + T(step.epsilon));
  }
}

template <typename T>
void adagrad_step(size_t n, const AdagradStep& step, const T* g, T* w, T* sum) {
  for (size_t i = 0; i < n; ++i) {
    const T change = g[i] + T(step.weight_decay) * w[i];
    sum[i] += change * change;
    w[i] -= T(step.learning_rate) * change / (std::sqrt(sum[i]) + T(step.epsilon));
  }
}

template <typename T>
void rmsprop_step(size_t n, const RmspropStep& step, const T* g, T* w, T* v, T* b, T* m) {
  const T alpha = T(step.alpha);
  for (size_t i = 0; i < n; ++i) {
    const T gradient = g[i] + T(step.weight_decay) * w[i];
    v[i] = alpha * v[i] + (1 - alpha) * gradient * gradient;
    T variance = v[i];
    if (m != nullptr) {
      m[i] = alpha * m[i] + (1 - alpha) * gradient;
      variance = std::max(T(0), v[i] - m[i] * m[i]);
    }
    T change = gradient / (std::sqrt(variance) + T(step.epsilon));
    if (b != nullptr) change = b[i] = T(step.momentum) * b[i] + change;
    w[i] -= T(step.learning_rate) * change;
  }
}

template <typename T>
void adadelta_step(size_t n, const AdadeltaStep& step, const T* g, T* w, T* v, T* u) {
  const T rho = T(step.rho), epsilon = T(step.epsilon);
  for (size_t i = 0; i < n; ++i) {
    const T gradient = g[i] + T(step.weight_decay) * w[i];
    v[i] = rho * v[i] + (1 - rho) * gradient * gradient;
    const T change = gradient * std::sqrt(u[i] + epsilon) / std::sqrt(v[i] + epsilon);
    u[i] = rho * u[i] + (1 - rho) * change * change;
    w[i] -= T(step.learning_rate) * change;
  }
}

template <typename T>
void lion_step(size_t n, const LionStep& step, const T* g, T* w, T* m) {
  for (size_t i = 0; i < n; ++i) {
    const T direction = T(step.beta1) * m[i] + (1 - T(step.beta1)) * g[i];
    const T sign = T(direction > 0) - T(direction < 0);
    w[i] -= T(step.learning_rate) * (sign + T(step.weight_decay) * w[i]);
    m[i] = T(step.beta2) * m[i] + (1 - T(step.beta2)) * g[i];
  }
}

template <typename T>
void lamb_direction(size_t n, const LambStep& step, const T* g, const T* w, T* m, T* v, T* u) {
  for (size_t i = 0; i < n; ++i) {
    update_moments(T(step.beta1), T(step.beta2), g[i], m[i], v[i]);
    const T root = std::sqrt(v[i]) * T(step.v_scale) + T(step.epsilon);
    u[i] = T(step.m_scale) * m[i] / root + T(step.weight_decay) * w[i];
  }
}

template <typename T>
void sum_of_squares(size_t n, const T* x, double* sums) {
  for (size_t i = 0; i < n; ++i) {
    if (i % kSquaresBlock == 0) sums[i / kSquaresBlock] = 0;
    sums[i / kSquaresBlock] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
}

template <typename T>
void add_scaled(size_t n, T factor, const T* x, T* y) {
  for (size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

template <typename T>
void scale_in_place(size_t n, T factor, T* x) {
  for (size_t i = 0; i < n; ++i) x[i] *= factor;
}

template <typename T>
void clip_in_place(size_t n, T limit, T* x) {
  for (size_t i = 0; i < n; ++i) x[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
}

template <typename T>
void add_proximal(size_t n, T mu, const T* w, const T* w0, T* g) {
  for (size_t i = 0; i < n; ++i) g[i] += mu * (w[i] - w0[i]);
}

template <typename T>
void fill_optimizer(OptimizerKernels<T>& table) {
  table.sgd_step = sgd_step<T>;
  table.adam_step = adam_step<T>;
  table.adamw_step = adamw_step<T>;
  table.adagrad_step = adagrad_step<T>;
  table.rmsprop_step = rmsprop_step<T>;
  table.adadelta_step = adadelta_step<T>;
  table.lion_step = lion_step<T>;
  table.lamb_direction = lamb_direction<T>;
  table.sum_of_squares = sum_of_squares<T>;
  table.add_scaled = add_scaled<T>;
  table.scale_in_place = scale_in_place<T>;
  table.clip_in_place = clip_in_place<T>;
  table.inverse_fourth_root = coterie::inverse_fourth_root<T>;
  table.add_proximal = add_proximal<T>;
}

}  // namespace coterie::kernels::reference
