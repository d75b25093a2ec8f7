// Functions of one variable by the definition. Contracts: unary.h, tables/activation.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "train_kernels/tables/activation.h"

namespace coterie::kernels::reference {

template <typename T>
T logistic(T x) {
  return 1 / (1 + std::exp(-x));
}

// The tanh of GELU's approximation and the derivative of what it is taken of.
template <typename T>
T gelu_tanh_of(T x) {
  return std::tanh(std::sqrt(2 / std::numbers::pi_v<T>) * (x + T(0.044715) * x * x * x));
}
template <typename T>
T gelu_tanh_slope(T x) {
  return std::sqrt(2 / std::numbers::pi_v<T>) * (1 + 3 * T(0.044715) * x * x);
}

template <typename T>
T unary_value(const UnaryOp& op, T x) {
  const T alpha = T(op.alpha), beta = T(op.beta);
  switch (op.kind) {
    case Unary::relu: return x < 0 ? T(0) : x;
    case Unary::relu6: return x < 0 ? T(0) : x > 6 ? T(6) : x;
    case Unary::leaky_relu: return x > 0 ? x : alpha * x;
    case Unary::elu: return x > 0 ? x : alpha * std::expm1(x);
    case Unary::gelu_erf: return x / 2 * (1 + std::erf(x / std::numbers::sqrt2_v<T>));
    case Unary::gelu_tanh: return x / 2 * (1 + gelu_tanh_of(x));
    case Unary::sigmoid: return logistic(x);
    case Unary::hard_sigmoid: return std::min(std::max(alpha * x + beta, T(0)), T(1));
    case Unary::hard_swish: return x * std::min(std::max(x / 6 + T(0.5), T(0)), T(1));
    case Unary::swish: return x * logistic(x);
    case Unary::tanh: return std::tanh(x);
    case Unary::softplus: return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
    case Unary::softsign: return x / (1 + std::abs(x));
    case Unary::clip: return std::min(std::max(x, alpha), beta);
    case Unary::sqrt: return std::sqrt(x);
    case Unary::exp: return std::exp(x);
    case Unary::log: return std::log(x);
    case Unary::abs: return std::abs(x);
    case Unary::neg: return -x;
    case Unary::reciprocal: return 1 / x;
    case Unary::erf: return std::erf(x);
  }
  return x;
}

// The derivative from what derivative_reads names.
template <typename T>
T unary_slope(const UnaryOp& op, T saved) {
  const T alpha = T(op.alpha), beta = T(op.beta), x = saved, y = saved;
  switch (op.kind) {
    case Unary::relu: return T(y > 0);
    case Unary::relu6: return T(y > 0 && y < 6);
    case Unary::leaky_relu: return saved > 0 ? T(1) : alpha;
    case Unary::elu:
      if (saved > 0) return T(1);
      return derivative_reads(op) == DerivativeReads::y ? y + alpha : alpha * std::exp(x);
    case Unary::gelu_erf: {
      const T density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<T>);
      return (1 + std::erf(x / std::numbers::sqrt2_v<T>)) / 2 + x * density;
    }
    case Unary::gelu_tanh: {
      const T t = gelu_tanh_of(x);
      return (1 + t) / 2 + x / 2 * (1 - t * t) * gelu_tanh_slope(x);
    }
    case Unary::sigmoid: return y * (1 - y);
    case Unary::hard_sigmoid: return y > 0 && y < 1 ? alpha : T(0);
    case Unary::hard_swish: return x < -3 ? T(0) : x > 3 ? T(1) : x / 3 + T(0.5);
    case Unary::swish: return logistic(x) * (1 + x * (1 - logistic(x)));
    case Unary::tanh: return 1 - y * y;
    case Unary::softplus: return -std::expm1(-y);
    case Unary::softsign: return (1 - std::abs(y)) * (1 - std::abs(y));
    case Unary::clip: return T(y > alpha && y < beta);
    case Unary::sqrt: return T(0.5) / y;
    case Unary::exp: return y;
    case Unary::log: return 1 / x;
    case Unary::abs: return T(x > 0) - T(x < 0);
    case Unary::neg: return T(-1);
    case Unary::reciprocal: return -y * y;
    case Unary::erf: return 2 / std::sqrt(std::numbers::pi_v<T>) * std::exp(-x * x);
  }
  return T(1);
}

template <typename T>
void unary_forward(const UnaryOp& op, size_t n, const T* x, T* y) {
  for (size_t i = 0; i < n; ++i) y[i] = unary_value(op, x[i]);
}

template <typename T>
void unary_backward(const UnaryOp& op, size_t n, const T* saved, const T* dy, T* dx) {
  const bool reads = derivative_reads(op) != DerivativeReads::neither;
  for (size_t i = 0; i < n; ++i) dx[i] = dy[i] * unary_slope(op, reads ? saved[i] : T(0));
}

template <typename T>
void prelu_forward(const PreluShape& s, const T* x, const T* slope, T* y) {
  for (size_t r = 0; r < s.rows; ++r) {
    for (size_t c = 0; c < s.channels; ++c) {
      const T value = x[r * s.stride + c];
      y[r * s.stride + c] = value > 0 ? value : slope[s.one_slope ? 0 : c] * value;
    }
  }
}

template <typename T>
void prelu_backward_input(const PreluShape& s, const T* x, const T* slope, const T* dy, T* dx) {
  for (size_t r = 0; r < s.rows; ++r) {
    for (size_t c = 0; c < s.channels; ++c) {
      const size_t at = r * s.stride + c;
      dx[at] = x[at] > 0 ? dy[at] : slope[s.one_slope ? 0 : c] * dy[at];
    }
  }
}

template <typename T>
void prelu_backward_slope(const PreluShape& s, const T* x, const T* dy, T* dslope) {
  std::fill_n(dslope, s.one_slope ? 1 : s.channels, T(0));
  for (size_t r = 0; r < s.rows; ++r) {
    for (size_t c = 0; c < s.channels; ++c) {
      const size_t at = r * s.stride + c;
      if (!(x[at] > 0)) dslope[s.one_slope ? 0 : c] += dy[at] * x[at];
    }
  }
}

template <typename T>
void fill_activation(ActivationKernels<T>& table) {
  table.unary_forward = unary_forward<T>;
  table.unary_backward = unary_backward<T>;
  table.prelu_forward = prelu_forward<T>;
  table.prelu_backward_input = prelu_backward_input<T>;
  table.prelu_backward_slope = prelu_backward_slope<T>;
}

}  // namespace coterie::kernels::reference
