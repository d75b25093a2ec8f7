// Attention by the definition, one query at a time. Contracts: tables/attention.h. Unlike the fast kernels
// these allocate: the scores of one query.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "train_kernels/tables/attention.h"

namespace coterie::kernels::reference {

// One example and head.
struct AttentionPair {
  AttentionPair(const AttentionShape& shape, size_t pair) : s(shape), b(pair / s.heads), h(pair % s.heads) {}

  size_t q(size_t i) const { return (b * s.queries + i) * s.q_stride + h * s.width; }
  size_t y(size_t i) const { return (b * s.queries + i) * s.y_stride + h * s.width; }
  size_t k(size_t j) const { return (b * s.keys + j) * s.k_stride + h * s.width; }
  size_t v(size_t j) const { return (b * s.keys + j) * s.v_stride + h * s.width; }
  size_t log_sum(size_t i) const { return (b * s.heads + h) * s.queries + i; }
  template <typename T>
  T score(size_t i, size_t j, const T* query, const T* key, const T* mask, const int32_t* key_mask) const {
    if (j >= s.visible(i) || (key_mask != nullptr && key_mask[b * s.keys + j] == 0)) {
      return -std::numeric_limits<T>::infinity();
    }
    T sum = 0;
    for (size_t c = 0; c < s.width; ++c) sum += query[c] * key[c];
    sum *= T(s.scale);
    if (mask != nullptr) sum += mask[b * s.mask_batch_stride + h * s.mask_head_stride + i * s.keys + j];
    return sum;
  }

  const AttentionShape& s;
  size_t b, h;
};

template <typename T>
void attention_forward(const AttentionShape& s, Range pairs, const AttentionForward<T>& p, void*) {
  std::vector<T> scores(s.keys);
  for (size_t pair = pairs.begin; pair < pairs.end; ++pair) {
    const AttentionPair at(s, pair);
    for (size_t i = 0; i < s.queries; ++i) {
      T top = -std::numeric_limits<T>::infinity(), sum = 0;
      for (size_t j = 0; j < s.keys; ++j) {
        scores[j] = at.score(i, j, p.q + at.q(i), p.k + at.k(j), p.mask, p.key_mask);
        if (scores[j] > top) top = scores[j];
      }
      T* y = p.y + at.y(i);
      for (size_t c = 0; c < s.width; ++c) y[c] = 0;
      p.log_sums[at.log_sum(i)] = std::numeric_limits<T>::infinity();
      if (std::isinf(top)) continue;
      for (size_t j = 0; j < s.keys; ++j) sum += std::exp(scores[j] - top);
      p.log_sums[at.log_sum(i)] = top + std::log(sum);
      for (size_t j = 0; j < s.keys; ++j) {
        const T share = std::exp(scores[j] - top) / sum;
        for (size_t c = 0; c < s.width; ++c) y[c] += share * p.v[at.v(j) + c];
      }
    }
  }
}

template <typename T>
void attention_backward(const AttentionShape& s, Range pairs, const AttentionBackward<T>& p, void*) {
  for (size_t pair = pairs.begin; pair < pairs.end; ++pair) {
    const AttentionPair at(s, pair);
    for (size_t j = 0; j < s.keys; ++j) {
      for (size_t c = 0; c < s.width; ++c) p.dk[at.k(j) + c] = p.dv[at.v(j) + c] = 0;
    }
    for (size_t i = 0; i < s.queries; ++i) {
      const T *q = p.q + at.q(i), *y = p.y + at.y(i), *dy = p.dy + at.y(i);
      T* dq = p.dq + at.q(i);
      T along = 0;  // dy . y, the mean of dy . v
      for (size_t c = 0; c < s.width; ++c) {
        dq[c] = 0;
        along += dy[c] * y[c];
      }
      for (size_t j = 0; j < s.keys; ++j) {
        const T *k = p.k + at.k(j), *v = p.v + at.v(j);
        const T score = at.score(i, j, q, k, p.mask, p.key_mask), share = std::exp(score - p.log_sums[at.log_sum(i)]);
        T across = 0;
        for (size_t c = 0; c < s.width; ++c) across += dy[c] * v[c];
        const T slope = share * (across - along) * T(s.scale);
        for (size_t c = 0; c < s.width; ++c) {
          dq[c] += slope * k[c];
          p.dk[at.k(j) + c] += slope * q[c];
          p.dv[at.v(j) + c] += share * dy[c];
        }
      }
    }
  }
}

template <typename T>
void fill_attention(AttentionKernels<T>& table) {
  table.attention_forward = attention_forward<T>;
  table.attention_backward = attention_backward<T>;
}

}  // namespace coterie::kernels::reference
