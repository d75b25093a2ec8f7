// Optimizer steps. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/shapes.h"

namespace coterie::kernels {

template <typename T>
struct OptimizerKernels {
  // In-place updates of w and the optimizer's moments. v of SGD may be null when momentum is 0.
  void (*sgd_step)(size_t n, const SgdStep&, const T* g, T* w, T* v);
  void (*adam_step)(size_t n, const AdamStep&, const T* g, T* w, T* m, T* v);
};

}  // namespace coterie::kernels
