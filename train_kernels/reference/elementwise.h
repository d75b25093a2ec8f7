// Element-wise kernels by the definition. Contracts: tables/elementwise.h.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

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
void narrow(size_t n, const T* x, uint16_t* y) {
  for (size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x[i]));
    const bool is_nan = x[i] != x[i];
    y[i] = static_cast<uint16_t>(is_nan ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

template <typename T>
void widen(size_t n, const uint16_t* x, T* y) {
  for (size_t i = 0; i < n; ++i) y[i] = static_cast<T>(std::bit_cast<float>(static_cast<uint32_t>(x[i]) << 16));
}

template <typename T>
void least_and_largest(size_t n, const T* x, T* least, T* largest) {
  T low = x[0], high = x[0];
  for (size_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) low = high = std::numeric_limits<T>::quiet_NaN();
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  *least = low, *largest = high;
}

template <typename T>
void round_onto_grid(size_t n, T scale, T zero, const T* x, T* y) {
  for (size_t i = 0; i < n; ++i) {
    const T q = std::nearbyint(x[i] / scale) + zero;
    y[i] = scale * ((q < -128 ? T(-128) : q > 127 ? T(127) : q) - zero);
  }
}

template <typename T>
void fill_elementwise(ElementwiseKernels<T>& table) {
  table.relu_forward = relu_forward<T>;
  table.relu_backward = relu_backward<T>;
  table.add = add<T>;
  table.accumulate = accumulate<T>;
  table.narrow = narrow<T>;
  table.widen = widen<T>;
  table.least_and_largest = least_and_largest<T>;
  table.round_onto_grid = round_onto_grid<T>;
}

}  // namespace coterie::kernels::reference
