// Losses of rows against rows, by the definition. Contracts: tables/embedding_loss.h.
#pragma once

#include <cmath>

#include "train_kernels/tables/embedding_loss.h"

namespace coterie::kernels::reference {

template <typename T>
void cosine_embedding(size_t rows, size_t width, const T* a, const T* b, const int32_t* labels, T margin, T scale,
                      T* da, T* db, LossSums* sums) {
  for (size_t row = 0; row < rows; ++row) {
    const size_t at = row * width;
    T product = 0, square_a = T(1e-12), square_b = T(1e-12);
    for (size_t i = at; i < at + width; ++i) {
      product += a[i] * b[i];
      square_a += a[i] * a[i];
      square_b += b[i] * b[i];
    }
    const T lengths = std::sqrt(square_a * square_b), cosine = product / lengths;
    const bool alike = labels[row] == 1, active = alike || cosine > margin;
    if (active) sums->loss += static_cast<double>(alike ? 1 - cosine : cosine - margin);
    const T slope = !active ? T(0) : alike ? -scale : scale;
    for (size_t i = at; i < at + width; ++i) {
      if (da != nullptr) da[i] = slope * (b[i] / lengths - cosine * a[i] / square_a);
      if (db != nullptr) db[i] = slope * (a[i] / lengths - cosine * b[i] / square_b);
    }
  }
}

template <typename T>
T distance(size_t n, const T* a, const T* b) {
  T sum = 0;
  for (size_t i = 0; i < n; ++i) sum += (a[i] - b[i] + T(1e-6)) * (a[i] - b[i] + T(1e-6));
  return std::sqrt(sum);
}

template <typename T>
void triplet_margin(size_t rows, size_t width, const T* anchor, const T* positive, const T* negative, T margin, T scale,
                    T* d_anchor, T* d_positive, T* d_negative, LossSums* sums) {
  for (size_t row = 0; row < rows; ++row) {
    const size_t at = row * width;
    const T near = distance(width, anchor + at, positive + at), far = distance(width, anchor + at, negative + at);
    const T loss = near - far + margin;
    const bool active = loss > 0;
    if (active) sums->loss += static_cast<double>(loss);
    const T to_positive = active && near > 0 ? scale / near : 0, to_negative = active && far > 0 ? scale / far : 0;
    for (size_t i = at; i < at + width; ++i) {
      const T pull = to_positive * (anchor[i] - positive[i] + T(1e-6));
      const T push = to_negative * (anchor[i] - negative[i] + T(1e-6));
      if (d_anchor != nullptr) d_anchor[i] = pull - push;
      if (d_positive != nullptr) d_positive[i] = -pull;
      if (d_negative != nullptr) d_negative[i] = push;
    }
  }
}

template <typename T>
void fill_embedding_loss(EmbeddingLossKernels<T>& table) {
  table.cosine_embedding = cosine_embedding<T>;
  table.triplet_margin = triplet_margin<T>;
}

}  // namespace coterie::kernels::reference
