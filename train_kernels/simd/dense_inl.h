// The dense layer's three products; a pointwise convolution is one too. Contracts: kernel_table.h. Compiled once per
// target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_DENSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_DENSE_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_DENSE_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_DENSE_INL_H_
#endif

#include "train_kernels/range.h"
#include "train_kernels/shapes.h"
#include "train_kernels/simd/products_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// Row i of A is contiguous.
HWY_INLINE MatrixA rows_of(const float* base, size_t columns, float* buffer = nullptr) {
  return {base, {nullptr, static_cast<ptrdiff_t>(columns)}, nullptr, 1, columns, 1, buffer};
}
HWY_INLINE MatrixC rows_of(float* base, size_t columns) { return {base, {nullptr, static_cast<ptrdiff_t>(columns)}}; }

// w: [in, out], in panels of columns. One panel is read as it lies.
template <class Products>
COT_INLINE_UNLESS_SMALL void dense_prepare_forward(const DenseShape& s, Range rows, const float* w, float* prepared) {
  if (s.out > panel_of(s.out)) Products(s.out).pack_rows(s.in, s.out, rows, w + rows.begin * s.out, s.out, prepared);
}

template <class Products>
COT_INLINE_UNLESS_SMALL void dense_prepare_backward_input(const DenseShape& s, Range columns, const float* w,
                                                          float* prepared) {
  Products(s.in).pack_transposed_rows(s.out, s.in, columns, w + columns.begin, s.out, prepared);
}

// B's columns from `begin`, the first of a panel.
HWY_INLINE MatrixB from_column(MatrixB b, size_t begin) {
  b.base += begin / b.panel * b.panel_stride;
  return b;
}

// x: [batch, in]; w: [in, out], or packed in `prepared`; bias: [out] or null; y: [batch, out], some columns of it.
template <class Products>
COT_INLINE_UNLESS_SMALL void dense_forward(const DenseShape& s, Range columns, const float* x, const float* w,
                                           const float* prepared, const float* bias, Activation activation, float* y,
                                           void* workspace) {
  Scratch scratch(workspace);
  const size_t begin = columns.begin, n = columns.size();
  const Products products(s.out);
  const bool is_prepared = prepared != nullptr && s.out > panel_of(s.out);
  const MatrixB b = is_prepared ? from_column(products.packed(s.in, s.out, prepared), begin)
                    : prepared == nullptr && worth_packing(s.batch, n)
                        ? pack_all(products, s.in, n, w + begin, s.out, scratch.take<float>(packed_b_floats(s.in, n)))
                        : plain_b(n, w + begin, s.out);
  float* buffer = scratch.take<float>(packed_a_floats(s.batch, s.in));
  products.multiply(s.batch, n, rows_of(x, s.in, buffer), b, rows_of(y + begin, s.out),
                    {.accumulate = false, .activation = activation, .bias = bias == nullptr ? nullptr : bias + begin});
}

#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
// dx[kRows, in] = dy[kRows, out] w^T for the whole vectors of dx: w is read once, turned in registers, and
// summed in gemm's order.
template <size_t kRows>
COT_INLINE_UNLESS_SMALL void few_rows_backward_input(const DenseShape& s, Range columns, const float* dy,
                                                     const float* w, float* dx) {
  const hn::FixedTag<float, kLanes> d;
  const size_t piece = piece_length(s.out);
  for (size_t i = columns.begin; i + kLanes <= columns.end; i += kLanes) {
    const float* rows = w + i * s.out;
    Vector totals[kRows], sums[kRows];
    COT_UNROLL for (size_t r = 0; r < kRows; ++r) totals[r] = hn::Zero(d);
    for (size_t from = 0; from < s.out; from += piece) {
      const size_t end = HWY_MIN(s.out, from + piece);
      COT_UNROLL for (size_t r = 0; r < kRows; ++r) sums[r] = hn::Zero(d);
      size_t o = from;
      for (; o + 4 <= end; o += 4) {
        Vector turned[4];
        turn_columns(d, rows + o, s.out, turned);
        COT_UNROLL for (size_t j = 0; j < 4; ++j) {
          COT_UNROLL for (size_t r = 0; r < kRows; ++r) {
            sums[r] = hn::MulAdd(hn::Set(d, dy[r * s.out + o + j]), turned[j], sums[r]);
          }
        }
      }
      for (; o < end; ++o) {
        HWY_ALIGN float column[kLanes];
        for (size_t lane = 0; lane < kLanes; ++lane) column[lane] = rows[lane * s.out + o];
        COT_UNROLL for (size_t r = 0; r < kRows; ++r) {
          sums[r] = hn::MulAdd(hn::Set(d, dy[r * s.out + o]), hn::Load(d, column), sums[r]);
        }
      }
      COT_UNROLL for (size_t r = 0; r < kRows; ++r) totals[r] = from == 0 ? sums[r] : hn::Add(totals[r], sums[r]);
    }
    COT_UNROLL for (size_t r = 0; r < kRows; ++r) hn::StoreU(totals[r], d, dx + r * s.in + i);
  }
}
#endif

// dy: [batch, out]; w: [in, out], or w^T packed in `prepared`; dx: [batch, in], some columns of it.
template <class Products>
COT_INLINE_UNLESS_SMALL void dense_backward_input(const DenseShape& s, Range columns, const float* dy, const float* w,
                                                  const float* prepared, float* dx, void* workspace) {
  Scratch scratch(workspace);
  const Products products(s.in);
  if (prepared != nullptr) {
    float* buffer = s.batch >= kPackedRowsMin ? scratch.take<float>(packed_a_floats(s.batch, s.out)) : nullptr;
    return products.multiply(s.batch, columns.size(), rows_of(dy, s.out, buffer),
                             from_column(products.packed(s.out, s.in, prepared), columns.begin),
                             rows_of(dx + columns.begin, s.in), {});
  }
  // Few rows: each panel of w^T is made, used and forgotten while it is in the cache.
  const size_t wide = panel_of(columns.size());
  float* panel = scratch.take<float>(s.out * wide);
  size_t begin = columns.begin;
#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
  if (Products::kTurnsFewRows && s.batch <= 2) {  // a panel would be written for one reading
    if (s.batch == 1) few_rows_backward_input<1>(s, columns, dy, w, dx);
    else few_rows_backward_input<2>(s, columns, dy, w, dx);
    begin += columns.size() / kLanes * kLanes;
  }
#endif
  for (size_t column = begin; column < columns.end; column += wide) {
    const size_t count = HWY_MIN(wide, columns.end - column);
    const MatrixB b = pack_all_transposed(products, s.out, count, w + column * s.out, s.out, panel);
    products.multiply(s.batch, count, rows_of(dy, s.out), b, rows_of(dx + column, s.in), {});
  }
}

// x: [batch, in]; dy: [batch, out]; dw: [in, out], some rows of it; dbias: [out] or null. Where the batch is cut does
// not depend on the rows: a split changes no bit.
template <class Products>
COT_INLINE_UNLESS_SMALL void dense_backward_weights_part(const DenseShape& s, Range rows, const float* x,
                                                         const float* dy, float* dw, float* dbias, void* workspace) {
  if (dbias != nullptr) column_sums(s.batch, s.out, dy, dbias);
  Scratch scratch(workspace);
  const size_t chunk = HWY_MIN(s.batch, kTurnedRows);
  const Products products(s.out);
  float* buffer = scratch.take<float>(packed_a_floats(s.in, chunk));
  float* packed = worth_packing(s.in, s.out) ? scratch.take<float>(packed_b_floats(chunk, s.out)) : nullptr;
  for (size_t from = 0; from < s.batch; from += chunk) {
    const size_t examples = HWY_MIN(chunk, s.batch - from);
    // Row i of A is column i of x; k runs down the batch.
    const MatrixA a{x + from * s.in + rows.begin, {nullptr, 1}, nullptr, 1, examples,
                    static_cast<ptrdiff_t>(s.in), buffer};
    const float* gradient = dy + from * s.out;
    const MatrixB b = packed == nullptr ? plain_b(s.out, gradient, s.out)
                                        : pack_all(products, examples, s.out, gradient, s.out, packed);
    products.multiply(rows.size(), s.out, a, b, rows_of(dw + rows.begin * s.out, s.out), {.accumulate = from > 0});
  }
}

template <class Products>
HWY_INLINE void dense_backward_weights(const DenseShape& s, const float* x, const float* dy, float* dw, float* dbias,
                                       void* workspace) {
  dense_backward_weights_part<Products>(s, {0, s.in}, x, dy, dw, dbias, workspace);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
