// Losses of one prediction and one target an element. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/shapes.h"

namespace coterie::kernels {

// l(y, t), with d = y - t. Source: PyTorch, torch.nn.<name in parentheses>.
enum class ElementLoss : uint8_t {
  squared,               // d^2                                                                            (MSELoss)
  absolute,              // |d|, its derivative 0 at 0                                                      (L1Loss)
  huber,                 // d^2 / 2 where |d| <= threshold, else threshold (|d| - threshold / 2)         (HuberLoss)
  smooth_l1,             // d^2 / (2 threshold) where |d| < threshold, else |d| - threshold / 2       (SmoothL1Loss)
  binary_cross_entropy,  // -t max(log y, -100) - (1 - t) max(log(1 - y), -100), derivative
                         // d / max(y (1 - y), 1e-12) (BCELoss)
  binary_cross_entropy_with_logits,  // max(y, 0) - y t + log(1 + e^-|y|) (BCEWithLogitsLoss)
  kl_divergence,                     // t (log t - y), 0 where t = 0: y is the logarithm of a probability (KLDivLoss)
};

// A row's loss is the mean over its `width` elements; of kl_divergence the sum (PyTorch's "batchmean"). The
// binary ones of width 1 count a row as correct where y says what t > 1/2 says (y > 1/2, or a logit y > 0).
struct ElementLossShape {
  ElementLoss kind;
  size_t rows, width;
  float threshold = 1;  // huber's delta > 0, smooth_l1's beta >= 0
};

template <typename T>
struct ElementwiseLossKernels {
  // Sums over rows, as tables/loss.h has it for `scale` and `sums`.
  void (*element_loss)(const ElementLossShape&, const T* y, const T* targets, T scale, T* dy, LossSums* sums);
  void (*element_loss_of_labels)(const ElementLossShape&, const T* y, const int32_t* targets, T scale, T* dy,
                                 LossSums* sums);
};

}  // namespace coterie::kernels
