// Winograd's transforms along one axis: of the input, the weights and the products. Matrices: Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2016, 4.1 and 4.3. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_WINOGRAD_FILTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_WINOGRAD_FILTER_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_WINOGRAD_FILTER_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_WINOGRAD_FILTER_INL_H_
#endif

#include "train_kernels/simd/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

HWY_INLINE Vector times(float factor, Vector v) { return hn::Mul(hn::Set(Tag(), factor), v); }
HWY_INLINE Vector plus(float factor, Vector v, Vector sum) { return hn::MulAdd(hn::Set(Tag(), factor), v, sum); }

// F(kOutputs, 3) along one axis.
template <size_t kOutputs>
struct Filter;

template <>
struct Filter<2> {
  static constexpr size_t kSize = 4;

  static HWY_INLINE void input(const Vector (&d)[4], Vector (&v)[4]) {
    v[0] = hn::Sub(d[0], d[2]);
    v[1] = hn::Add(d[1], d[2]);
    v[2] = hn::Sub(d[2], d[1]);
    v[3] = hn::Sub(d[1], d[3]);
  }
  static HWY_INLINE void weights(const Vector (&g)[3], Vector (&u)[4]) {
    const Vector even = times(0.5f, hn::Add(g[0], g[2])), odd = times(0.5f, g[1]);
    u[0] = g[0];
    u[1] = hn::Add(even, odd);
    u[2] = hn::Sub(even, odd);
    u[3] = g[2];
  }
  static HWY_INLINE void output(const Vector (&m)[4], Vector (&y)[2]) {
    y[0] = hn::Add(hn::Add(m[1], m[2]), m[0]);
    y[1] = hn::Sub(hn::Sub(m[1], m[2]), m[3]);
  }
};

template <>
struct Filter<4> {
  static constexpr size_t kSize = 6;

  static HWY_INLINE void input(const Vector (&d)[6], Vector (&v)[6]) {
    const Vector low = plus(-4, d[2], d[4]), high = plus(-4, d[1], d[3]);
    const Vector even = hn::Sub(d[4], d[2]), odd = times(2, hn::Sub(d[3], d[1]));
    v[0] = plus(4, d[0], plus(-5, d[2], d[4]));
    v[1] = hn::Add(low, high);
    v[2] = hn::Sub(low, high);
    v[3] = hn::Add(even, odd);
    v[4] = hn::Sub(even, odd);
    v[5] = plus(4, d[1], plus(-5, d[3], d[5]));
  }
  static HWY_INLINE void weights(const Vector (&g)[3], Vector (&u)[6]) {
    const Vector ends = times(-1.0f / 6, hn::Add(g[0], g[2])), middle = times(-1.0f / 6, g[1]);
    const Vector even = plus(1.0f / 24, g[0], times(1.0f / 6, g[2])), odd = times(1.0f / 12, g[1]);
    u[0] = times(0.25f, g[0]);
    u[1] = hn::Add(ends, middle);
    u[2] = hn::Sub(ends, middle);
    u[3] = hn::Add(even, odd);
    u[4] = hn::Sub(even, odd);
    u[5] = g[2];
  }
  static HWY_INLINE void output(const Vector (&m)[6], Vector (&y)[4]) {
    const Vector sum1 = hn::Add(m[1], m[2]), difference1 = hn::Sub(m[1], m[2]);
    const Vector sum2 = hn::Add(m[3], m[4]), difference2 = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(m[0], hn::Add(sum1, sum2));
    y[1] = plus(2, difference2, difference1);
    y[2] = plus(4, sum2, sum1);
    y[3] = hn::Add(m[5], plus(8, difference2, difference1));
  }
};

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
