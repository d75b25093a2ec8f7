// The discrete Fourier transform of a line of vectors: every lane is a signal of its own, so no lane is ever moved.
// Stockham's form with radix 4, 3 and 2, which needs no reordering. Source: Van Loan, "Computational Frameworks for the
// Fast Fourier Transform", 1992, 1.7. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_FFT_LINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_FFT_LINE_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_FFT_LINE_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_FFT_LINE_INL_H_
#endif

#include "train_kernels/fft_table.h"
#include "train_kernels/simd/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

struct Complex {
  Vector re, im;
};

HWY_INLINE Complex plus(const Complex& a, const Complex& b) { return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)}; }
HWY_INLINE Complex minus(const Complex& a, const Complex& b) { return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)}; }
// -i a.
HWY_INLINE Complex turned_back(const Complex& a) { return {a.im, hn::Neg(a.re)}; }

// Complex vectors: parts of element i at re + i * step and im + i * step.
struct ComplexLine {
  float *re, *im;
  size_t step;

  // The transform of what is exchanged is the inverse transform, exchanged.
  ComplexLine exchanged() const { return {im, re, step}; }
  HWY_INLINE Complex load(size_t i) const { return {hn::LoadU(Tag(), re + i * step), hn::LoadU(Tag(), im + i * step)}; }
  HWY_INLINE void store(const Complex& value, size_t i) const {
    hn::StoreU(value.re, Tag(), re + i * step);
    hn::StoreU(value.im, Tag(), im + i * step);
  }
};
HWY_INLINE ComplexLine line_at(float* p) { return {p, p + kLanes, 2 * kLanes}; }

// A turn back by `at` / kFftTable of a circle.
struct Twiddle {
  explicit Twiddle(size_t at)
      : cosine(kFftCosines.at[at]), sine(kFftCosines.at[(at + kFftTable * 3 / 4) % kFftTable]) {}
  HWY_INLINE Complex operator()(const Complex& a) const {
    const Vector c = hn::Set(Tag(), cosine), s = hn::Set(Tag(), sine);
    return {hn::MulAdd(a.im, s, hn::Mul(a.re, c)), hn::NegMulAdd(a.re, s, hn::Mul(a.im, c))};
  }
  float cosine, sine;
};

// The transform of kRadix values `apart` from each other.
template <size_t kRadix>
HWY_INLINE void small_transform(const ComplexLine& from, size_t at, size_t apart, Complex (&y)[kRadix]) {
  const Complex a = from.load(at), b = from.load(at + apart);
  if constexpr (kRadix == 2) {
    y[0] = plus(a, b);
    y[1] = minus(a, b);
  } else if constexpr (kRadix == 3) {
    const Complex c = from.load(at + 2 * apart), sum = plus(b, c), difference = minus(b, c);
    const Vector half = hn::Set(Tag(), 0.5f), sine = hn::Set(Tag(), kFftCosines.at[kFftTable / 12]);
    const Complex middle = {hn::NegMulAdd(half, sum.re, a.re), hn::NegMulAdd(half, sum.im, a.im)};
    y[0] = plus(a, sum);
    y[1] = {hn::MulAdd(sine, difference.im, middle.re), hn::NegMulAdd(sine, difference.re, middle.im)};
    y[2] = {hn::NegMulAdd(sine, difference.im, middle.re), hn::MulAdd(sine, difference.re, middle.im)};
  } else {
    const Complex c = from.load(at + 2 * apart), d = from.load(at + 3 * apart);
    const Complex even = plus(a, c), odd = plus(b, d);
    const Complex rest = minus(a, c), turned = turned_back(minus(b, d));
    y[0] = plus(even, odd);
    y[1] = plus(rest, turned);
    y[2] = minus(even, odd);
    y[3] = minus(rest, turned);
  }
}

// One pass: `streams` interleaved transforms of `n` become kRadix times as many of n / kRadix.
template <size_t kRadix>
HWY_INLINE void fft_pass(const ComplexLine& from, const ComplexLine& to, size_t n, size_t streams) {
  const size_t parts = n / kRadix, apart = parts * streams;
  Complex y[kRadix];
  for (size_t q = 0; q < streams; ++q) {
    small_transform<kRadix>(from, q, apart, y);
    for (size_t k = 0; k < kRadix; ++k) to.store(y[k], q + streams * k);
  }
  for (size_t p = 1; p < parts; ++p) {
    const size_t turn = p * (kFftTable / n), first = streams * p * kRadix;
    for (size_t q = 0; q < streams; ++q) {
      small_transform<kRadix>(from, q + streams * p, apart, y);
      to.store(y[0], first + q);
      for (size_t k = 1; k < kRadix; ++k) to.store(Twiddle(turn * k)(y[k]), first + q + streams * k);
    }
  }
}

// The transform of n elements, n of kFftSizes. `scratch` holds two lines of n; `to` may be `from`.
HWY_NOINLINE inline void fft(size_t n, ComplexLine from, const ComplexLine& to, float* scratch) {
  ComplexLine now = line_at(scratch), other = line_at(scratch + 2 * n * kLanes);
  size_t left = n, streams = 1;
  while (left > 1) {
    const size_t radix = left % 4 == 0 ? 4 : left % 3 == 0 ? 3 : 2;
    const ComplexLine& next = left == radix ? to : now;
    if (radix == 4) fft_pass<4>(from, next, left, streams);
    else if (radix == 3) fft_pass<3>(from, next, left, streams);
    else fft_pass<2>(from, next, left, streams);
    from = now;
    now = other;
    other = from;
    streams *= radix;
    left /= radix;
  }
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
