// Losses that compare rows with rows. The contract of every kernel: kernel_table.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/shapes.h"

namespace coterie::kernels {

template <typename T>
struct EmbeddingLossKernels {
  // Sums over rows, as tables/loss.h has it for `scale` and `sums`. Gradients may be null, each for itself.
  //
  // 1 - cos(a, b) where the label is 1, else (label -1) max(0, cos(a, b) - margin);
  // cos(a, b) = a.b / sqrt((a.a + 1e-12) (b.b + 1e-12)). Source: PyTorch, torch.nn.CosineEmbeddingLoss.
  void (*cosine_embedding)(size_t rows, size_t width, const T* a, const T* b, const int32_t* labels, T margin, T scale,
                           T* da, T* db, LossSums* sums);
  // max(0, |anchor - positive| - |anchor - negative| + margin), |d| = sqrt(sum over i of (d[i] + 1e-6)^2).
  // Source: PyTorch, torch.nn.TripletMarginLoss with p = 2 and without swap.
  void (*triplet_margin)(size_t rows, size_t width, const T* anchor, const T* positive, const T* negative, T margin,
                         T scale, T* d_anchor, T* d_positive, T* d_negative, LossSums* sums);
};

}  // namespace coterie::kernels
