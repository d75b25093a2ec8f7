// Losses. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/shapes.h"

namespace coterie::kernels {

template <typename T>
struct LossKernels {
  // Both losses are means over the batch; d_outputs (unless null) is the gradient of that mean. `sums` gets the sum
  // over examples added. Labels are in [0, classes); for mean squared error with one output the label is the target
  // itself, otherwise the target is one-hot, and an example's loss is the mean over its outputs.
  void (*softmax_cross_entropy)(size_t batch, size_t classes, const T* logits, const int32_t* labels, T* d_outputs,
                                LossSums* sums);
  void (*mean_squared_error)(size_t batch, size_t outputs, const T* y, const int32_t* labels, T* d_outputs,
                             LossSums* sums);
};

}  // namespace coterie::kernels
