// The core of multi-head attention, between its projections. The contract of every kernel: kernel_table.h.
//
// For each example and head, with rows q[queries, width], k and v[keys, width]:
//
//   y = softmax(scale q k^T + mask) v
//
// Source: Vaswani et al., "Attention Is All You Need", 2017; PyTorch, scaled_dot_product_attention. No matrix
// of queries * keys is kept for backward, which makes it again, some queries at a time, from one number a
// query: Dao et al., "FlashAttention", 2022.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/range.h"

namespace coterie::kernels {

// Row t of example b begins at (b * queries + t) * q_stride of q and dq, (b * keys + t) * k_stride of k and
// dk, and so on; head h is [h * width, (h + 1) * width) of the row. So q, k and v may lie side by side in one
// tensor.
struct AttentionShape {
  size_t batch, heads, queries, keys, width;
  size_t q_stride, k_stride, v_stride, y_stride;
  float scale;          // 1 / sqrt(width), as a rule
  bool causal = false;  // query i sees the keys j <= i
  // Strides of the additive mask, in floats: 0 where all examples, or heads, share one [queries, keys].
  size_t mask_batch_stride = 0, mask_head_stride = 0;

  size_t visible(size_t query) const { return causal && query + 1 < keys ? query + 1 : keys; }
  size_t log_sums_floats() const { return batch * heads * queries; }
};

template <typename T>
struct AttentionForward {
  const T *q, *k, *v;
  const T* mask;            // added to the scores (minus infinity hides); null: zeros. It has no gradient.
  const int32_t* key_mask;  // [batch, keys], 0 hides the key from all queries; null: ones
  T* y;                     // 0 in the rows of queries that see no key
  T* log_sums;              // [batch, heads, queries], for backward: log of the sum of exp(scores), infinity where
                            // nothing is seen
};

template <typename T>
struct AttentionBackward {
  const T *q, *k, *v, *mask;
  const int32_t* key_mask;
  const T *y, *dy, *log_sums;  // of forward
  T *dq, *dk, *dv;
};

template <typename T>
struct AttentionKernels {
  // `pairs` of the batch * heads pairs, pair b * heads + h: each writes its own part of the results.
  void (*attention_forward)(const AttentionShape&, Range pairs, const AttentionForward<T>&, void* workspace);
  void (*attention_backward)(const AttentionShape&, Range pairs, const AttentionBackward<T>&, void* workspace);
};

// Bytes of workspace, for any range.
size_t attention_forward_workspace(const AttentionShape& shape);
size_t attention_backward_workspace(const AttentionShape& shape);

// The queries whose scores are in memory at a time, and the floats of a row of them: a power of two would put
// the rows of a column into the same few lines of the cache.
inline constexpr size_t kQueriesAtATime = 64;
constexpr size_t score_stride(size_t keys) { return (keys + 15) / 16 * 16 + 16; }

}  // namespace coterie::kernels
