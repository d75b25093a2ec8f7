// Recurrent layers. Contracts: tables/rnn.h.
//
// x w is one product for all steps; only h r has to wait for the step before. That one is bound by the
// bandwidth at which r comes from the caches (1 MB for 256 hidden units), so r is packed into panels once a
// sequence, and every second step walks the panels backwards: those it used last are still in L2. In backward
// the gates' gradients take the activations' place, and dw and dr are one product each over all steps.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/rnn.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/bfloat16_targets.h"
#include "train_kernels/simd/products_inl.h"
#include "train_kernels/simd/rnn_cells_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/rnn.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// Rows of [.., width] that lie `stride` floats apart.
HWY_INLINE MatrixA strided(const float* base, size_t stride, size_t width) {
  return {base, {nullptr, static_cast<ptrdiff_t>(stride)}, nullptr, 1, width, 1};
}
HWY_INLINE MatrixC strided(float* base, size_t stride) { return {base, {nullptr, static_cast<ptrdiff_t>(stride)}}; }

// A row of a state for each example of the range; null: zeros.
struct State {
  const float* base;
  size_t stride;

  HWY_INLINE const float* row(size_t b) const { return base == nullptr ? nullptr : base + b * stride; }
};

// Where the operands of one computed step lie.
struct Steps {
  const RnnShape& s;
  Range examples;

  size_t row(size_t t) const { return s.position(t) * s.batch + examples.begin; }
  State h_before(size_t t, const float* y, const float* h0) const {
    if (t > 0) return {y + row(t - 1) * s.y_stride, s.y_stride};
    return {h0 == nullptr ? nullptr : h0 + examples.begin * s.hidden, s.hidden};
  }
  State c_before(size_t t, const float* saved, const float* c0) const {
    if (s.cell != RnnCell::lstm) return {nullptr, 0};
    if (t > 0) return {saved + row(t - 1) * s.saved_stride() + 4 * s.hidden, s.saved_stride()};
    return {c0 == nullptr ? nullptr : c0 + examples.begin * s.hidden, s.hidden};
  }
};

// Panels that a product takes at once: as many as a row alone meets at a time (gemm.cc).
constexpr size_t kPanelsAtOnce = 3;

// C (+)= A B, some panels at a time, the last of them first if `backwards`.
template <class Products>
HWY_INLINE void product(const Products& products, size_t m, size_t n, const MatrixA& a, const MatrixB& b,
                        const MatrixC& c, const Finish& finish, bool backwards) {
  // As many groups as come nearest to that: with all in one there would be no other way round.
  const size_t wide = kPanelsAtOnce * b.panel, groups = HWY_MAX(size_t{1}, (n + wide / 2) / wide);
  for (size_t i = 0; i < groups; ++i) {
    const size_t group = backwards ? groups - 1 - i : i, column = group * wide;
    const size_t end = group + 1 == groups ? n : column + wide;  // the last has what is left
    Finish part = finish;
    if (part.bias != nullptr) part.bias += column;
    products.multiply(m, end - column, a,
                      {b.base + group * kPanelsAtOnce * b.panel_stride, b.row_stride, b.panel_stride, b.panel},
                      {c.base + column, c.rows}, part);
  }
}

// The same for every step of the range; in one go if the range is the whole batch.
template <class Products>
HWY_INLINE void product_of_steps(const Products& products, const Steps& at, size_t n, const MatrixA& a,
                                 const MatrixB& b, const MatrixC& c, const Finish& finish) {
  // Rows are [steps, batch]: the whole batch is one block of rows, a part of it a block in each step.
  if (at.examples.size() == at.s.batch) return products.multiply(at.s.steps * at.s.batch, n, a, b, c, finish);
  for (size_t t = 0; t < at.s.steps; ++t) {
    MatrixA from = a;
    MatrixC to = c;
    from.base += at.row(t) * static_cast<size_t>(a.rows.stride);
    to.base += at.row(t) * static_cast<size_t>(c.rows.stride);
    products.multiply(at.examples.size(), n, from, b, to, finish);
  }
}

HWY_INLINE void copy_or_zero(size_t n, const float* from, float* to) {
  if (from == nullptr) std::memset(to, 0, n * sizeof(float));
  else std::memcpy(to, from, n * sizeof(float));
}

// What x w gets added: both biases, but not bias_r of the candidate where the reset gate scales it.
HWY_INLINE const float* input_bias(const RnnShape& s, const RnnForward<float>& p, float* to) {
  copy_or_zero(s.columns(), p.bias_w, to);
  if (p.bias_r == nullptr) return to;
  const size_t shared = s.cell == RnnCell::gru_linear_before_reset ? 2 * s.hidden : s.columns();
  // Both biases are added once to all steps, as the product with x is.
  for (size_t j = 0; j < shared; ++j) to[j] += p.bias_r[j];
  return to;
}

// x: [steps, batch, inputs]; y: [steps, batch, hidden]; w: [inputs, gates * hidden]; r: [hidden, gates * hidden];
// saved: [steps, batch, saved_stride]. The product of x with w needs no state, so it is one product for all steps; only
// the product with r waits for the step before.
template <class Products>
void rnn_forward(const RnnShape& s, Range examples, const RnnForward<float>& p, void* workspace) {
  const size_t n = s.hidden, columns = s.columns(), joint = s.is_gru() ? 2 * n : columns, stride = s.saved_stride();
  const size_t count = examples.size();
  const Steps at{s, examples};
  const Products products(s.hidden);
  Scratch scratch(workspace);
  const float* bias = input_bias(s, p, scratch.take<float>(columns));
  const MatrixB r = pack_all(products, n, joint, p.r, columns, scratch.take<float>(packed_b_floats(n, joint)));
  MatrixB r_candidate{};
  if (s.is_gru())
    r_candidate = pack_all(products, n, n, p.r + joint, columns, scratch.take<float>(packed_b_floats(n, n)));
  const MatrixB w =
      worth_packing(s.steps * s.batch, columns)
          ? pack_all(products, s.inputs, columns, p.w, columns, scratch.take<float>(packed_b_floats(s.inputs, columns)))
          : plain_b(columns, p.w, columns);
  product_of_steps(products, at, columns, strided(p.x, s.inputs, s.inputs), w, strided(p.saved, stride),
                   {.bias = bias});

  for (size_t t = 0; t < s.steps; ++t) {
    // Every second step takes the panels of r from the end: those that the cache still has come first.
    const bool backwards = t % 2 != 0;
    const State h = at.h_before(t, p.y, p.h0), c = at.c_before(t, p.saved, p.c0);
    float* saved = p.saved + at.row(t) * stride;
    float* y = p.y + at.row(t) * s.y_stride;
    if (h.base != nullptr) {
      product(products, count, joint, strided(h.base, h.stride, n), r, strided(saved, stride), {.accumulate = true},
              backwards);
    }
    if (s.cell == RnnCell::gru_linear_before_reset) {
      const float* b = p.bias_r == nullptr ? nullptr : p.bias_r + 2 * n;
      for (size_t e = 0; h.base == nullptr && e < count; ++e) copy_or_zero(n, b, saved + e * stride + 3 * n);
      if (h.base != nullptr) {
        product(products, count, n, strided(h.base, h.stride, n), r_candidate, strided(saved + 3 * n, stride),
                {.bias = b}, backwards);
      }
    } else if (s.cell == RnnCell::gru) {
      for (size_t e = 0; e < count; ++e) gru_row_reset(n, h.row(e), saved + e * stride);
      if (h.base != nullptr) {
        product(products, count, n, strided(static_cast<const float*>(saved) + 3 * n, stride, n), r_candidate,
                strided(saved + 2 * n, stride), {.accumulate = true}, backwards);
      }
    }
    for (size_t e = 0; e < count; ++e) {
      float* row = saved + e * stride;
      float* out = y + e * s.y_stride;
      if (s.cell == RnnCell::lstm) lstm_row_forward(n, c.row(e), row, out);
      else if (s.is_gru()) gru_row_forward(n, s.cell == RnnCell::gru_linear_before_reset, h.row(e), row, out);
      else simple_row_forward(n, s.cell == RnnCell::relu, row, out);
    }
  }
  const State h = at.h_before(s.steps, p.y, p.h0), c = at.c_before(s.steps, p.saved, p.c0);
  for (size_t e = 0; e < count; ++e) {
    const size_t to = (examples.begin + e) * n;
    if (p.h_n != nullptr) std::memcpy(p.h_n + to, h.row(e), n * sizeof(float));
    if (p.c_n != nullptr && s.cell == RnnCell::lstm) std::memcpy(p.c_n + to, c.row(e), n * sizeof(float));
  }
}

// y, dy: [steps, batch, hidden]; dx: [steps, batch, inputs]; dh0, dc0: [batch, hidden]. `saved` gives the activations
// and gets the gradients of a + b, which rnn_backward_weights reads.
template <class Products>
void rnn_backward(const RnnShape& s, Range examples, const RnnBackward<float>& p, void* workspace) {
  const size_t n = s.hidden, columns = s.columns(), joint = s.is_gru() ? 2 * n : columns, stride = s.saved_stride();
  const size_t count = examples.size(), first = examples.begin * n;
  const bool lstm = s.cell == RnnCell::lstm, relu = s.cell == RnnCell::relu, gru = s.cell == RnnCell::gru;
  const Steps at{s, examples};
  const Products products(s.hidden);
  Scratch scratch(workspace);
  float* dh = scratch.take<float>(count * n);
  float* dc = scratch.take<float>(count * n);
  float* through = scratch.take<float>(count * n);
  const MatrixB r =
      pack_all_transposed(products, joint, n, p.r, columns, scratch.take<float>(packed_b_floats(joint, n)));
  MatrixB r_candidate{};
  if (s.is_gru()) {
    r_candidate = pack_all_transposed(products, n, n, p.r + joint, columns, scratch.take<float>(packed_b_floats(n, n)));
  }
  copy_or_zero(count * n, p.dh_n == nullptr ? nullptr : p.dh_n + first, dh);
  copy_or_zero(count * n, p.dc_n == nullptr ? nullptr : p.dc_n + first, dc);

  for (size_t t = s.steps; t-- > 0;) {
    const bool backwards = t % 2 != 0;
    const State h = at.h_before(t, p.y, p.h0), c = at.c_before(t, p.saved, p.c0);
    const float* y = p.y + at.row(t) * s.y_stride;
    const float* dy = p.dy + at.row(t) * s.y_stride;
    float* saved = p.saved + at.row(t) * stride;
    for (size_t e = 0; e < count; ++e) {
      float* row = saved + e * stride;
      if (lstm) lstm_row_backward(n, c.row(e), dy + e * s.y_stride, dh + e * n, row, dc + e * n);
      else if (s.is_gru()) gru_row_backward(n, !gru, h.row(e), dy + e * s.y_stride, row, dh + e * n);
      else simple_row_backward(n, relu, y + e * s.y_stride, dy + e * s.y_stride, dh + e * n, row);
    }
    const float* gradients = saved;
    if (gru) {
      product(products, count, n, strided(gradients + 2 * n, stride, n), r_candidate, strided(through, n), {},
              backwards);
      for (size_t e = 0; e < count; ++e) {
        gru_row_backward_reset(n, h.row(e), through + e * n, saved + e * stride, dh + e * n);
      }
    }
    // Before the first step there is nothing that wants a gradient.
    if (t == 0 && p.dh0 == nullptr) break;
    product(products, count, n, strided(gradients, stride, joint), r, strided(dh, n), {.accumulate = s.is_gru()},
            backwards);
    if (s.cell == RnnCell::gru_linear_before_reset) {
      product(products, count, n, strided(gradients + 3 * n, stride, n), r_candidate, strided(dh, n),
              {.accumulate = true}, backwards);
    }
  }
  if (p.dh0 != nullptr) std::memcpy(p.dh0 + first, dh, count * n * sizeof(float));
  if (p.dc0 != nullptr && lstm) std::memcpy(p.dc0 + first, dc, count * n * sizeof(float));
  if (p.dx == nullptr) return;
  const MatrixB w = pack_all_transposed(products, columns, s.inputs, p.w, columns,
                                        scratch.take<float>(packed_b_floats(columns, s.inputs)));
  product_of_steps(products, at, s.inputs, strided(static_cast<const float*>(p.saved), stride, columns), w,
                   strided(p.dx, s.inputs), {});
}

// Two matrices with a row for each step and example.
struct Pairs {
  size_t rows;
  const float* a;
  size_t a_stride;
  const float* d;
  size_t d_stride;
};

// to[width, out] (+)= a^T d, a[rows, width], d[rows, out].
template <class Products>
void transposed_product(const Products& products, const Pairs& pairs, size_t width, size_t out, float* to,
                        size_t to_stride, bool add, void* workspace) {
  if (pairs.rows < kPackedRowsMin) {
    const MatrixA a{pairs.a, {nullptr, 1}, nullptr, 1, pairs.rows, static_cast<ptrdiff_t>(pairs.a_stride)};
    return products.multiply(width, out, a, plain_b(out, pairs.d, pairs.d_stride), strided(to, to_stride),
                             {.accumulate = add});
  }
  Scratch scratch(workspace);
  const size_t chunk = HWY_MIN(pairs.rows, kTurnedRows);
  float* buffer = scratch.take<float>(packed_a_floats(width, chunk));
  float* packed = scratch.take<float>(packed_b_floats(chunk, out));
  for (size_t from = 0; from < pairs.rows; from += chunk) {
    const size_t rows = HWY_MIN(chunk, pairs.rows - from);
    const MatrixA a{pairs.a + from * pairs.a_stride,        {nullptr, 1}, nullptr, 1, rows,
                    static_cast<ptrdiff_t>(pairs.a_stride), buffer};
    const MatrixB b = pack_all(products, rows, out, pairs.d + from * pairs.d_stride, pairs.d_stride, packed);
    products.multiply(width, out, a, b, strided(to, to_stride), {.accumulate = add || from > 0});
  }
}

// to[j] = the sum of from[i, j] over i; four vectors at a time, so that a page is not left after one.
void strided_column_sums(size_t rows, size_t stride, Range columns, const float* from, float* to) {
  constexpr size_t kWide = 4;
  for (size_t j = columns.begin; j < columns.end; j += kWide * kLanes) {
    Vector sums[kWide];
    for (size_t v = 0; v < kWide; ++v) sums[v] = hn::Zero(Tag());
    const size_t width = HWY_MIN(kWide * kLanes, columns.end - j), vectors = (width + kLanes - 1) / kLanes;
    for (size_t i = 0; i < rows; ++i) {
      for (size_t v = 0; v < vectors; ++v) {
        const RowPart part(width, v * kLanes);
        sums[v] = hn::Add(sums[v], part.load(from + i * stride + j + v * kLanes));
      }
    }
    for (size_t v = 0; v < vectors; ++v) RowPart(width, v * kLanes).store(sums[v], to + j + v * kLanes);
  }
}

// x: [steps, batch, inputs]; y: [steps, batch, hidden]; dw: [inputs, gates * hidden]; dr: [hidden, gates * hidden];
// dbias_w, dbias_r: [gates * hidden]; `columns` of the last dimension are written
template <class Products>
void rnn_backward_weights(const RnnShape& s, Range columns, const RnnWeightGradients<float>& p, void* workspace) {
  const size_t n = s.hidden, all = s.columns(), stride = s.saved_stride(), rows = s.steps * s.batch;
  const Products products(s.hidden);
  transposed_product(products, {rows, p.x, s.inputs, p.saved + columns.begin, stride}, s.inputs, columns.size(),
                     p.dw + columns.begin, all, false, workspace);
  if (p.dbias_w != nullptr) strided_column_sums(rows, stride, columns, p.saved, p.dbias_w);

  // The candidate of a GRU has another operand, or another gradient, than its gates.
  const size_t joint = s.is_gru() ? 2 * n : all;
  const Range parts[] = {{HWY_MIN(columns.begin, joint), HWY_MIN(columns.end, joint)},
                         {HWY_MAX(columns.begin, joint), HWY_MAX(columns.end, joint)}};
  for (size_t i = 0; i < 2; ++i) {
    const Range part = parts[i];
    if (part.size() == 0) continue;
    const bool linear_candidate = i == 1 && s.cell == RnnCell::gru_linear_before_reset;
    const float* d = p.saved + (linear_candidate ? n : 0);
    float* dr = p.dr + part.begin;
    if (p.dbias_r != nullptr) strided_column_sums(rows, stride, part, d, p.dbias_r);
    d += part.begin;
    if (i == 1 && !linear_candidate) {
      transposed_product(products, {rows, p.saved + 3 * n, stride, d, stride}, n, part.size(), dr, all, false,
                         workspace);
      continue;
    }
    // Row k of y belongs to the gradients one step later: behind it, or in reverse before it.
    // dr is the sum over steps of h(t - 1)^T d(t): rows of y against rows of the gradients one step later, as one
    // product.
    const size_t later = s.batch;
    const float* y = s.reverse ? p.y + later * s.y_stride : p.y;
    const float* d_later = s.reverse ? d : d + later * stride;
    if (s.steps > 1) {
      transposed_product(products, {rows - later, y, s.y_stride, d_later, stride}, n, part.size(), dr, all, false,
                         workspace);
    } else {
      for (size_t row = 0; row < n; ++row) std::memset(dr + row * all, 0, part.size() * sizeof(float));
    }
    if (p.h0 == nullptr) continue;
    transposed_product(products, {s.batch, p.h0, n, d + s.position(0) * s.batch * stride, stride}, n, part.size(), dr,
                       all, true, workspace);
  }
}

template <class Products>
void fill_with(RnnKernels<float>& table) {
  COT_SET(rnn_forward, rnn_forward<Products>);
  COT_SET(rnn_backward, rnn_backward<Products>);
  COT_SET(rnn_backward_weights, rnn_backward_weights<Products>);
}

}  // namespace

void fill_rnn_target(RnnKernels<float>& table) { fill_with<Float32Products>(table); }
#if COT_TARGET_HAS_BFLOAT16
void fill_rnn_bfloat16_target(RnnKernels<float>& table) { fill_with<Bfloat16Products>(table); }
#endif

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(rnn, RnnKernels)
COT_DEFINE_BFLOAT16_FILL(rnn, RnnKernels)
}  // namespace coterie::kernels::simd
#endif
