// Batches of matrix products. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>

namespace coterie::kernels {

// C_i = alpha op(A_i) op(B_i) for i in [0, batch), where op(A) is [m, k], op(B) is [k, n], C is [m, n] and op turns its
// matrix if the flag says so: A is stored as [k, m], B as [n, k]. A_i begins at a + i * a_stride, so a stride of 0 uses
// one matrix for all. With c_stride 0 the products are summed into one C (the gradient of such a matrix). With
// `accumulate` they are added to what C holds.
struct MatmulShape {
  size_t batch, m, k, n;
  size_t a_stride, b_stride, c_stride;
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;
  float alpha = 1;
};

template <typename T>
struct MatmulKernels {
  void (*matmul)(const MatmulShape&, const T* a, const T* b, T* c, void* workspace);
};

// In bytes.
size_t matmul_workspace(const MatmulShape& shape);

}  // namespace coterie::kernels
