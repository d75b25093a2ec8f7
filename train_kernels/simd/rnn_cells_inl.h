// What a recurrent cell does to one example's row between the matrix products. Formulas: tables/rnn.h. A null
// state is zeros. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_RNN_CELLS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_RNN_CELLS_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_RNN_CELLS_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_RNN_CELLS_INL_H_
#endif

#include "train_kernels/simd/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// Up to a vector of a row of n: whole vectors, and the rest at the end.
class RowPart {
 public:
  RowPart(size_t n, size_t at) : lanes_(HWY_MIN(kLanes, n - at)) {}

  HWY_INLINE Vector load(const float* p) const { return lanes_ == kLanes ? hn::LoadU(Tag(), p) : load_n(p, lanes_); }
  HWY_INLINE Vector load_or_zero(const float* base, size_t at) const {
    return base == nullptr ? hn::Zero(Tag()) : load(base + at);
  }
  HWY_INLINE void store(Vector v, float* p) const {
    if (lanes_ == kLanes) hn::StoreU(v, Tag(), p);
    else store_n(v, p, lanes_);
  }

 private:
  size_t lanes_;
};

// s (1 - s), the derivative of a sigmoid whose value is s; 1 - t^2, that of a tanh.
HWY_INLINE Vector sigmoid_slope(Vector s) { return hn::NegMulAdd(s, s, s); }
HWY_INLINE Vector tanh_slope(Vector t) { return hn::NegMulAdd(t, t, hn::Set(Tag(), 1.0f)); }

// saved: a + b in, activations and c out.
HWY_INLINE void lstm_row_forward(size_t n, const float* c, float* saved, float* y) {
  for (size_t j = 0; j < n; j += kLanes) {
    const RowPart part(n, j);
    float* at = saved + j;
    const Vector i = logistic(part.load(at)), f = logistic(part.load(at + n));
    const Vector g = tanh(part.load(at + 2 * n)), o = logistic(part.load(at + 3 * n));
    const Vector now = hn::MulAdd(f, part.load_or_zero(c, j), hn::Mul(i, g));
    part.store(i, at);
    part.store(f, at + n);
    part.store(g, at + 2 * n);
    part.store(o, at + 3 * n);
    part.store(now, at + 4 * n);
    part.store(hn::Mul(o, tanh(now)), y + j);
  }
}

// saved: activations in, gradients of a + b out. dh: of the later step; dc: of this c in, of the previous
// out.
HWY_INLINE void lstm_row_backward(size_t n, const float* c, const float* dy, const float* dh, float* saved, float* dc) {
  for (size_t j = 0; j < n; j += kLanes) {
    const RowPart part(n, j);
    float* at = saved + j;
    const Vector i = part.load(at), f = part.load(at + n), g = part.load(at + 2 * n), o = part.load(at + 3 * n);
    const Vector squashed = tanh(part.load(at + 4 * n)), total = hn::Add(part.load(dy + j), part.load(dh + j));
    const Vector d = hn::MulAdd(hn::Mul(total, o), tanh_slope(squashed), part.load(dc + j));
    part.store(hn::Mul(hn::Mul(d, g), sigmoid_slope(i)), at);
    part.store(hn::Mul(hn::Mul(d, part.load_or_zero(c, j)), sigmoid_slope(f)), at + n);
    part.store(hn::Mul(hn::Mul(d, i), tanh_slope(g)), at + 2 * n);
    part.store(hn::Mul(hn::Mul(total, squashed), sigmoid_slope(o)), at + 3 * n);
    part.store(hn::Mul(d, f), dc + j);
  }
}

HWY_INLINE void simple_row_forward(size_t n, bool relu, const float* sum, float* y) {
  for (size_t j = 0; j < n; j += kLanes) {
    const RowPart part(n, j);
    const Vector x = part.load(sum + j);
    part.store(relu ? at_least(hn::Zero(Tag()), x) : tanh(x), y + j);
  }
}

HWY_INLINE void simple_row_backward(size_t n, bool relu, const float* y, const float* dy, const float* dh, float* d) {
  for (size_t j = 0; j < n; j += kLanes) {
    const RowPart part(n, j);
    const Vector total = hn::Add(part.load(dy + j), part.load(dh + j)), h = part.load(y + j);
    part.store(relu ? hn::IfThenElseZero(hn::Gt(h, hn::Zero(Tag())), total) : hn::Mul(total, tanh_slope(h)), d + j);
  }
}

// The reset gate, and what it leaves of h.
HWY_INLINE void gru_row_reset(size_t n, const float* h, float* saved) {
  for (size_t j = 0; j < n; j += kLanes) {
    const RowPart part(n, j);
    const Vector gate = logistic(part.load(saved + j));
    part.store(gate, saved + j);
    part.store(hn::Mul(gate, part.load_or_zero(h, j)), saved + 3 * n + j);
  }
}

// The rest of the step. With linear_before_reset the reset gate is still to be computed and scales b_n.
HWY_INLINE void gru_row_forward(size_t n, bool linear_before_reset, const float* h, float* saved, float* y) {
  for (size_t j = 0; j < n; j += kLanes) {
    const RowPart part(n, j);
    float* at = saved + j;
    const Vector z = logistic(part.load(at + n));
    Vector sum = part.load(at + 2 * n);
    if (linear_before_reset) {
      const Vector gate = logistic(part.load(at));
      part.store(gate, at);
      sum = hn::MulAdd(gate, part.load(at + 3 * n), sum);
    }
    const Vector candidate = tanh(sum);
    part.store(z, at + n);
    part.store(candidate, at + 2 * n);
    part.store(hn::MulAdd(z, hn::Sub(part.load_or_zero(h, j), candidate), candidate), y + j);
  }
}

// dh: of the later step in, the part of the previous step's that passes by the gates out.
HWY_INLINE void gru_row_backward(size_t n, bool linear_before_reset, const float* h, const float* dy, float* saved,
                                 float* dh) {
  const Vector one = hn::Set(Tag(), 1.0f);
  for (size_t j = 0; j < n; j += kLanes) {
    const RowPart part(n, j);
    float* at = saved + j;
    const Vector gate = part.load(at), z = part.load(at + n), candidate = part.load(at + 2 * n);
    const Vector total = hn::Add(part.load(dy + j), part.load(dh + j));
    const Vector change = hn::Sub(part.load_or_zero(h, j), candidate);
    const Vector d_candidate = hn::Mul(hn::Mul(total, hn::Sub(one, z)), tanh_slope(candidate));
    part.store(hn::Mul(total, z), dh + j);
    part.store(hn::Mul(hn::Mul(total, change), sigmoid_slope(z)), at + n);
    part.store(d_candidate, at + 2 * n);
    if (!linear_before_reset) continue;
    part.store(hn::Mul(hn::Mul(d_candidate, part.load(at + 3 * n)), sigmoid_slope(gate)), at);
    part.store(hn::Mul(d_candidate, gate), at + 3 * n);
  }
}

// Without linear_before_reset: `through` is the gradient of (reset gate) h.
HWY_INLINE void gru_row_backward_reset(size_t n, const float* h, const float* through, float* saved, float* dh) {
  for (size_t j = 0; j < n; j += kLanes) {
    const RowPart part(n, j);
    const Vector gate = part.load(saved + j), d = part.load(through + j);
    part.store(hn::Mul(hn::Mul(d, part.load_or_zero(h, j)), sigmoid_slope(gate)), saved + j);
    part.store(hn::MulAdd(d, gate, part.load(dh + j)), dh + j);
  }
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
