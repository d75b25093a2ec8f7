// Attention. Contracts: tables/attention.h.
//
// For each example and head, kQueriesAtATime queries meet all keys they see: a product, a softmax of its
// rows, a product. The scores, a quarter of a megabyte for 512 keys with their gradients, stay in L2.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/attention.cc"
#include "hwy/foreach_target.h"

#include <cmath>
#include <limits>

#include "train_kernels/simd/gemm_inl.h"
#include "train_kernels/simd/map_inl.h"
#include "train_kernels/simd/math_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/attention.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// Rows `stride` floats apart, `width` floats of each, as A and as C.
HWY_INLINE MatrixA left(const float* base, size_t stride, size_t width) {
  return {base, {nullptr, static_cast<ptrdiff_t>(stride)}, nullptr, 1, width, 1};
}
HWY_INLINE MatrixC result(float* base, size_t stride) { return {base, {nullptr, static_cast<ptrdiff_t>(stride)}}; }
// The transpose of `rows` such rows as A.
HWY_INLINE MatrixA left_transposed(const float* base, size_t stride, size_t rows) {
  return {base, {nullptr, 1}, nullptr, 1, rows, static_cast<ptrdiff_t>(stride)};
}

// Where one example and head lies.
struct Pair {
  Pair(const AttentionShape& s, size_t pair) : b(pair / s.heads), h(pair % s.heads) {
    q = b * s.queries * s.q_stride + h * s.width;
    y = b * s.queries * s.y_stride + h * s.width;
    k = b * s.keys * s.k_stride + h * s.width;
    v = b * s.keys * s.v_stride + h * s.width;
    mask = b * s.mask_batch_stride + h * s.mask_head_stride;
    log_sums = pair * s.queries;
  }
  size_t b, h, q, y, k, v, mask, log_sums;
};

// scores = scale * scores + mask, minus infinity where key_mask hides the key; `top` becomes their largest.
struct MaskScores {
  float* scores;
  const float* mask;
  const int32_t* key_mask;
  Vector scale;
  Vector* top;

  template <class Lanes>
  HWY_INLINE void operator()(size_t j, const Lanes& lanes) const {
    Vector score = hn::Mul(scale, lanes.load(scores + j));
    if (mask != nullptr) score = hn::Add(score, lanes.load(mask + j));
    const Vector lowest = splat(-HUGE_VALF);
    if (key_mask != nullptr) {
      const Vector bits = lanes.load(reinterpret_cast<const float*>(key_mask + j));  // loads move bits
      const auto hidden = hn::Eq(hn::BitCast(IntTag(), bits), hn::Zero(IntTag()));
      score = hn::IfThenElse(hn::RebindMask(Tag(), hidden), lowest, score);
    }
    lanes.store(score, scores + j);
    // What lies behind the lanes must not become the largest.
    const auto inside = hn::Gt(lanes.clear_rest(splat(1)), hn::Zero(Tag()));
    *top = hn::Max(*top, hn::IfThenElse(inside, score, lowest));
  }
};

// values = exp(values - shift), and their sum.
struct Exponentials {
  float* values;
  Vector shift;
  Vector* sum;

  template <class Lanes>
  HWY_INLINE void operator()(size_t j, const Lanes& lanes) const {
    const Vector e = exp(hn::Sub(lanes.load(values + j), shift));
    *sum = hn::Add(*sum, lanes.clear_rest(e));
    lanes.store(e, values + j);
  }
};

// The n scores of a query that it sees.
struct Row {
  float* scores;
  const float* mask;
  const int32_t* key_mask;
  size_t n;

  // Scales and masks them; returns the largest.
  HWY_INLINE float prepare(float scale) const {
    Vector top = splat(-HUGE_VALF);
    for_each_vector(n, MaskScores{scores, mask, key_mask, splat(scale), &top});
    return hn::GetLane(hn::MaxOfLanes(Tag(), top));
  }
  // They become exponentials of what they are above `shift`, and zeros up to `end`; returns the sum.
  HWY_INLINE float exponentials(float shift, size_t end) const {
    Vector sum = hn::Zero(Tag());
    for_each_vector(n, Exponentials{scores, splat(shift), &sum});
    // The product with v reads as many keys as the last query of the block sees. Those that this query does not see
    // share 0.
    std::memset(scores + n, 0, (end - n) * sizeof(float));
    return hn::GetLane(hn::SumOfLanes(Tag(), sum));
  }
};

struct ScaleRow {
  float* row;
  Vector factor;

  template <class Lanes>
  HWY_INLINE void operator()(size_t c, const Lanes& lanes) const {
    lanes.store(hn::Mul(factor, lanes.load(row + c)), row + c);
  }
};

// The operands of forward and backward that make the scores.
template <class Operands>
HWY_INLINE Row row_of(const AttentionShape& s, const Operands& p, const Pair& at, size_t query, float* scores) {
  return {scores, p.mask == nullptr ? nullptr : p.mask + at.mask + query * s.keys,
          p.key_mask == nullptr ? nullptr : p.key_mask + at.b * s.keys, s.visible(query)};
}

// Rows that go through one pass before the next. A pass of a row ends in a largest or a sum, which waits for its
// vectors one after another; those of several rows wait at the same time. As many rows of 512 keys stay in L1.
constexpr size_t kRowsTogether = 8;

// q, y: [batch, queries, heads, width]; k, v: [batch, keys, heads, width]; log_sums: [batch, heads, queries]. Rows are
// q_stride, y_stride, .. floats apart. The scores of kQueriesAtATime queries are in memory at a time.
void attention_forward(const AttentionShape& s, Range pairs, const AttentionForward<float>& p, void* workspace) {
  Scratch scratch(workspace);
  float* packed_k = scratch.take<float>(packed_b_floats(s.width, s.keys));
  float* packed_v = scratch.take<float>(packed_b_floats(s.keys, s.width));
  const size_t stride = score_stride(s.keys);
  float* scores = scratch.take<float>(kQueriesAtATime * stride);
  for (size_t pair = pairs.begin; pair < pairs.end; ++pair) {
    const Pair at(s, pair);
    const MatrixB k = pack_b_transposed(s.width, s.keys, p.k + at.k, s.k_stride, packed_k);
    const MatrixB v = pack_b(s.keys, s.width, p.v + at.v, s.v_stride, packed_v);
    for (size_t from = 0; from < s.queries; from += kQueriesAtATime) {
      const size_t rows = HWY_MIN(kQueriesAtATime, s.queries - from), keys = s.visible(from + rows - 1);
      float sums[kQueriesAtATime];
      gemm(rows, keys, left(p.q + at.q + from * s.q_stride, s.q_stride, s.width), k, result(scores, stride), {});
      for (size_t first = 0; first < rows; first += kRowsTogether) {
        const size_t last = HWY_MIN(rows, first + kRowsTogether);
        float shifts[kRowsTogether];
        for (size_t i = first; i < last; ++i) {
          // A finite shift keeps exp(-inf - shift) at 0 where the query sees nothing: then the sum is 0.
          const float top = row_of(s, p, at, from + i, scores + i * stride).prepare(s.scale);
          const float lowest = std::numeric_limits<float>::lowest();
          shifts[i - first] = top < lowest ? lowest : top;
        }
        for (size_t i = first; i < last; ++i) {
          sums[i] = row_of(s, p, at, from + i, scores + i * stride).exponentials(shifts[i - first], keys);
        }
        for (size_t i = first; i < last; ++i) {
          p.log_sums[at.log_sums + from + i] = sums[i] == 0 ? HUGE_VALF : shifts[i - first] + std::log(sums[i]);
        }
      }
      float* y = p.y + at.y + from * s.y_stride;
      gemm(rows, s.width, left(scores, stride, keys), v, result(y, s.y_stride), {});
      for (size_t i = 0; i < rows; ++i) {
        for_each_vector(s.width, ScaleRow{y + i * s.y_stride, splat(sums[i] == 0 ? 0 : 1 / sums[i])});
      }
    }
  }
}

struct DotTerm {
  const float *a, *b;
  Vector* sum;

  template <class Lanes>
  HWY_INLINE void operator()(size_t c, const Lanes& lanes) const {
    *sum = hn::MulAdd(lanes.load(a + c), lanes.load(b + c), *sum);
  }
};

// slopes = shares * (slopes - along) * scale, the gradient of the scores before scaling.
struct ScoreSlopes {
  const float* shares;
  float* slopes;
  Vector along, scale;

  template <class Lanes>
  HWY_INLINE void operator()(size_t j, const Lanes& lanes) const {
    const Vector centred = hn::Sub(lanes.load(slopes + j), along);
    lanes.store(hn::Mul(hn::Mul(lanes.load(shares + j), centred), scale), slopes + j);
  }
};

HWY_INLINE void clear_rows(size_t rows, size_t width, size_t stride, float* to) {
  for (size_t row = 0; row < rows; ++row) std::memset(to + row * stride, 0, width * sizeof(float));
}

// q, y, dy, dq: [batch, queries, heads, width]; k, v, dk, dv: [batch, keys, heads, width]; log_sums: [batch, heads,
// queries]. The shares (the softmax) are made again from log_sums. The sum of shares * d_shares over the keys, which a
// softmax's gradient needs, is y . dy: no second pass over the keys.
void attention_backward(const AttentionShape& s, Range pairs, const AttentionBackward<float>& p, void* workspace) {
  Scratch scratch(workspace);
  float* turned_k = scratch.take<float>(packed_b_floats(s.width, s.keys));
  float* turned_v = scratch.take<float>(packed_b_floats(s.width, s.keys));
  float* packed_k = scratch.take<float>(packed_b_floats(s.keys, s.width));
  const size_t stride = score_stride(s.keys);
  float* shares = scratch.take<float>(kQueriesAtATime * stride);
  float* slopes = scratch.take<float>(kQueriesAtATime * stride);
  for (size_t pair = pairs.begin; pair < pairs.end; ++pair) {
    const Pair at(s, pair);
    const MatrixB k_turned = pack_b_transposed(s.width, s.keys, p.k + at.k, s.k_stride, turned_k);
    const MatrixB v_turned = pack_b_transposed(s.width, s.keys, p.v + at.v, s.v_stride, turned_v);
    const MatrixB k = pack_b(s.keys, s.width, p.k + at.k, s.k_stride, packed_k);
    clear_rows(s.keys, s.width, s.k_stride, p.dk + at.k);
    clear_rows(s.keys, s.width, s.v_stride, p.dv + at.v);
    for (size_t from = 0; from < s.queries; from += kQueriesAtATime) {
      const size_t rows = HWY_MIN(kQueriesAtATime, s.queries - from), keys = s.visible(from + rows - 1);
      const float* q = p.q + at.q + from * s.q_stride;
      const float* y = p.y + at.y + from * s.y_stride;
      const float* dy = p.dy + at.y + from * s.y_stride;
      gemm(rows, keys, left(q, s.q_stride, s.width), k_turned, result(shares, stride), {});
      gemm(rows, keys, left(dy, s.y_stride, s.width), v_turned, result(slopes, stride), {});
      for (size_t first = 0; first < rows; first += kRowsTogether) {
        const size_t last = HWY_MIN(rows, first + kRowsTogether);
        for (size_t i = first; i < last; ++i) {
          const Row row = row_of(s, p, at, from + i, shares + i * stride);
          row.prepare(s.scale);
          // exp(score - log_sum) is the share itself: no sum and no division a second time. A log_sum of infinity makes
          // all 0.
          row.exponentials(p.log_sums[at.log_sums + from + i], keys);
        }
        for (size_t i = first; i < last; ++i) {
          Vector along = hn::Zero(Tag());
          for_each_vector(s.width, DotTerm{y + i * s.y_stride, dy + i * s.y_stride, &along});
          for_each_vector(keys, ScoreSlopes{shares + i * stride, slopes + i * stride, hn::SumOfLanes(Tag(), along),
                                            splat(s.scale)});
        }
      }
      gemm(rows, s.width, left(slopes, stride, keys), k, result(p.dq + at.q + from * s.q_stride, s.q_stride), {});
      // dk [keys, width] and dv get a part from each block of queries, so that they are added to.
      gemm(keys, s.width, left_transposed(slopes, stride, rows), plain_b(s.width, q, s.q_stride),
           result(p.dk + at.k, s.k_stride), {.accumulate = true});
      gemm(keys, s.width, left_transposed(shares, stride, rows), plain_b(s.width, dy, s.y_stride),
           result(p.dv + at.v, s.v_stride), {.accumulate = true});
    }
  }
}

}  // namespace

void fill_attention_target(AttentionKernels<float>& table) {
  COT_SET(attention_forward, attention_forward);
  COT_SET(attention_backward, attention_backward);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(attention, AttentionKernels)
}  // namespace coterie::kernels::simd
#endif
