// Softmax by the definition. Contracts: tables/softmax.h.
#pragma once

#include <algorithm>
#include <cmath>

#include "train_kernels/tables/softmax.h"

namespace coterie::kernels::reference {

// visit(first) for each line along the axis; its values are s.inner apart.
template <class Visit>
void for_each_line(const SoftmaxShape& s, const Visit& visit) {
  for (size_t o = 0; o < s.outer; ++o) {
    for (size_t i = 0; i < s.inner; ++i) visit(o * s.axis * s.inner + i);
  }
}

template <typename T>
void softmax_forward(const SoftmaxShape& s, const T* x, T* y, bool logarithm) {
  for_each_line(s, [&](size_t first) {
    T top = x[first], sum = 0;
    for (size_t k = 1; k < s.axis; ++k) top = std::max(top, x[first + k * s.inner]);
    for (size_t k = 0; k < s.axis; ++k) sum += std::exp(x[first + k * s.inner] - top);
    for (size_t k = 0; k < s.axis; ++k) {
      const T shifted = x[first + k * s.inner] - top;
      y[first + k * s.inner] = logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum;
    }
  });
}

template <typename T>
void softmax_forward(const SoftmaxShape& s, const T* x, T* y) {
  softmax_forward(s, x, y, false);
}
template <typename T>
void log_softmax_forward(const SoftmaxShape& s, const T* x, T* y) {
  softmax_forward(s, x, y, true);
}

template <typename T>
void softmax_backward(const SoftmaxShape& s, const T* y, const T* dy, T* dx) {
  for_each_line(s, [&](size_t first) {
    T sum = 0;
    for (size_t k = 0; k < s.axis; ++k) sum += dy[first + k * s.inner] * y[first + k * s.inner];
    for (size_t k = 0; k < s.axis; ++k) {
      dx[first + k * s.inner] = y[first + k * s.inner] * (dy[first + k * s.inner] - sum);
    }
  });
}

template <typename T>
void log_softmax_backward(const SoftmaxShape& s, const T* y, const T* dy, T* dx) {
  for_each_line(s, [&](size_t first) {
    T sum = 0;
    for (size_t k = 0; k < s.axis; ++k) sum += dy[first + k * s.inner];
    for (size_t k = 0; k < s.axis; ++k) {
      dx[first + k * s.inner] = dy[first + k * s.inner] - std::exp(y[first + k * s.inner]) * sum;
    }
  });
}

template <typename T>
void fill_softmax(SoftmaxKernels<T>& table) {
  table.softmax_forward = softmax_forward<T>;
  table.softmax_backward = softmax_backward<T>;
  table.log_softmax_forward = log_softmax_forward<T>;
  table.log_softmax_backward = log_softmax_backward<T>;
}

}  // namespace coterie::kernels::reference
