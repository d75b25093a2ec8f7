// Matrix products by the definition. Contracts: tables/matmul.h.
#pragma once

#include "train_kernels/tables/matmul.h"

namespace coterie::kernels::reference {

template <typename T>
void matmul(const MatmulShape& s, const T* a, const T* b, T* c, void*) {
  for (size_t i = 0; i < s.batch; ++i) {
    const T *left = a + i * s.a_stride, *right = b + i * s.b_stride;
    const bool adds = s.accumulate || (s.c_stride == 0 && i > 0);
    for (size_t row = 0; row < s.m; ++row) {
      for (size_t column = 0; column < s.n; ++column) {
        T sum = 0;
        for (size_t k = 0; k < s.k; ++k) {
          sum += left[s.transpose_a ? k * s.m + row : row * s.k + k] *
                 right[s.transpose_b ? column * s.k + k : k * s.n + column];
        }
        T& to = c[i * s.c_stride + row * s.n + column];
        to = static_cast<T>(s.alpha) * sum + (adds ? to : T(0));
      }
    }
  }
}

template <typename T>
void fill_matmul(MatmulKernels<T>& table) {
  table.matmul = matmul<T>;
}

}  // namespace coterie::kernels::reference
