// Numbers modulo 2^255 - 19, eight at a time, by 52-bit multiply-adds (AVX-512 IFMA). Private to the kernel of
// ristretto255, which includes it once.
//
// A number is five limbs of 51 bits, the least first. A limb that is given is below 2^51 + 2^15, and so is one that
// comes out; multiply-adds take 52 bits. Everything is constant in time: selections are by masks.
#include <immintrin.h>

#include <cstdint>

#include "secure/crypto/cpu_ifma.h"

#define COT_LANES COT_TARGET_IFMA
#define COT_LANES_INLINE COT_TARGET_IFMA [[gnu::always_inline]] inline

namespace coterie {
namespace {

using Vector = __m512i;
using Mask = __mmask8;  // a bit a lane
using Limbs = uint64_t[5];

struct Field {
  Vector limb[5];
};

inline constexpr uint64_t kLimbMask = (uint64_t{1} << 51) - 1;
// RFC 9496 section 4.1; 2 d besides.
inline constexpr Limbs kD = {0x34dca135978a3, 0x1a8283b156ebd, 0x5e7a26001c029, 0x739c663a03cbb, 0x52036cee2b6ff};
inline constexpr Limbs kTwiceD = {0x69b9426b2f159, 0x35050762add7a, 0x3cf44c0038052, 0x6738cc7407977, 0x2406d9dc56dff};
inline constexpr Limbs kSqrtMinusOne = {0x61b274a0ea0b0, 0x0d5a5fc8f189d, 0x7ef5e9cbd0c60, 0x78595a6804c9e,
                                        0x2b8324804fc1d};
inline constexpr Limbs kSqrtAdMinusOne = {0x7f6a0497b2e1b, 0x1836f0a97afd2, 0x7d747f6be7638, 0x456079e7e6498,
                                          0x376931bf2b834};
inline constexpr Limbs kInvsqrtAMinusD = {0x0fdaa805d40ea, 0x2eb482e57d339, 0x007610274bc58, 0x6510b613dc8ff,
                                          0x786c8905cfaff};
inline constexpr Limbs kOneMinusDSquared = {0x409c1945fc176, 0x719abc6a1fc4f, 0x1c37f90b20684, 0x06bccca55eedf,
                                            0x029072a8b2b3e};
inline constexpr Limbs kDMinusOneSquared = {0x55aaa44ed4d20, 0x59603c3332635, 0x26d3baf4a7928, 0x120a66e6997a9,
                                            0x5968b37af66c2};
inline constexpr Limbs kZero = {0, 0, 0, 0, 0}, kOne = {1, 0, 0, 0, 0};

COT_LANES_INLINE Vector vector_of(uint64_t word) { return _mm512_set1_epi64(static_cast<int64_t>(word)); }
COT_LANES_INLINE Vector plus(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
COT_LANES_INLINE Vector times_19(Vector a) { return plus(plus(_mm512_slli_epi64(a, 4), plus(a, a)), a); }

COT_LANES_INLINE Field field_of(const Limbs& limbs) {
  return {{vector_of(limbs[0]), vector_of(limbs[1]), vector_of(limbs[2]), vector_of(limbs[3]), vector_of(limbs[4])}};
}

// Each limb's bits from 51 on go to the next one, the last one's to the first, 19 times. Limbs below 2^61 come out
// below 2^51 + 2^15.
COT_LANES_INLINE Field carried(const Field& a) {
  const Vector mask = vector_of(kLimbMask);
  Field r;
  for (int i = 0; i < 5; ++i) {
    const Vector carry = _mm512_srli_epi64(a.limb[(i + 4) % 5], 51);
    const Vector rest = _mm512_and_si512(a.limb[i], mask);
    r.limb[i] = i == 0 ? _mm512_madd52lo_epu64(rest, carry, vector_of(19)) : plus(rest, carry);
  }
  return r;
}

COT_LANES_INLINE Field add(const Field& a, const Field& b) {
  Field r;
  for (int i = 0; i < 5; ++i) r.limb[i] = plus(a.limb[i], b.limb[i]);
  return carried(r);
}

// a - b + 4 p.
COT_LANES_INLINE Field subtract(const Field& a, const Field& b) {
  Field r;
  for (int i = 0; i < 5; ++i) {
    const uint64_t four_p = (uint64_t{1} << 53) - (i == 0 ? 76 : 4);
    r.limb[i] = _mm512_sub_epi64(plus(a.limb[i], vector_of(four_p)), b.limb[i]);
  }
  return carried(r);
}
COT_LANES_INLINE Field negate(const Field& a) { return subtract(field_of(kZero), a); }

// low[k] is worth 2^(51 k), high[k] 2^(51 k + 52); 2^255 is worth 19.
COT_LANES_INLINE Field reduced(const Vector (&low)[10], const Vector (&high)[10]) {
  Field r;
  for (int k = 0; k < 5; ++k) {
    const Vector here = k == 0 ? low[0] : plus(low[k], plus(high[k - 1], high[k - 1]));
    const Vector beyond = plus(low[k + 5], plus(high[k + 4], high[k + 4]));
    r.limb[k] = plus(here, times_19(beyond));
  }
  return carried(r);
}

COT_LANES [[gnu::noinline]] Field multiply(const Field& a, const Field& b) {
  Vector low[10], high[10];
  for (int i = 0; i < 10; ++i) low[i] = high[i] = _mm512_setzero_si512();
#pragma GCC unroll 5
  for (int i = 0; i < 5; ++i) {
#pragma GCC unroll 5
    for (int j = 0; j < 5; ++j) {
      low[i + j] = _mm512_madd52lo_epu64(low[i + j], a.limb[i], b.limb[j]);
      high[i + j] = _mm512_madd52hi_epu64(high[i + j], a.limb[i], b.limb[j]);
    }
  }
  return reduced(low, high);
}

// The products of two limbs count twice.
COT_LANES_INLINE Field square_inline(const Field& a) {
  Vector low[10], high[10];
  for (int i = 0; i < 10; ++i) low[i] = high[i] = _mm512_setzero_si512();
#pragma GCC unroll 5
  for (int i = 0; i < 5; ++i) {
#pragma GCC unroll 5
    for (int j = i + 1; j < 5; ++j) {
      low[i + j] = _mm512_madd52lo_epu64(low[i + j], a.limb[i], a.limb[j]);
      high[i + j] = _mm512_madd52hi_epu64(high[i + j], a.limb[i], a.limb[j]);
    }
  }
#pragma GCC unroll 10
  for (int i = 0; i < 10; ++i) {
    low[i] = plus(low[i], low[i]);
    high[i] = plus(high[i], high[i]);
  }
#pragma GCC unroll 5
  for (int i = 0; i < 5; ++i) {
    low[2 * i] = _mm512_madd52lo_epu64(low[2 * i], a.limb[i], a.limb[i]);
    high[2 * i] = _mm512_madd52hi_epu64(high[2 * i], a.limb[i], a.limb[i]);
  }
  return reduced(low, high);
}
COT_LANES [[gnu::noinline]] Field square(const Field& a) { return square_inline(a); }
COT_LANES [[gnu::noinline]] Field square_times(Field a, int times) {
  for (int i = 0; i < times; ++i) a = square_inline(a);
  return a;
}

// The one representation below p.
COT_LANES_INLINE Field canonical(const Field& a) {
  const Vector mask = vector_of(kLimbMask);
  Field r = carried(carried(a));  // now below 2^255 + 19 in limbs of 51 bits and a bit
  // q: how often p is in it, from the carry that adding 19 has out of the last limb.
  Vector q = _mm512_srli_epi64(plus(r.limb[0], vector_of(19)), 51);
  for (int i = 1; i < 5; ++i) q = _mm512_srli_epi64(plus(r.limb[i], q), 51);
  r.limb[0] = _mm512_madd52lo_epu64(r.limb[0], q, vector_of(19));
  for (int i = 0; i < 4; ++i) {
    r.limb[i + 1] = plus(r.limb[i + 1], _mm512_srli_epi64(r.limb[i], 51));
    r.limb[i] = _mm512_and_si512(r.limb[i], mask);
  }
  r.limb[4] = _mm512_and_si512(r.limb[4], mask);
  return r;
}

COT_LANES_INLINE Mask is_zero(const Field& a) {
  const Field r = canonical(a);
  Vector any = r.limb[0];
  for (int i = 1; i < 5; ++i) any = _mm512_or_si512(any, r.limb[i]);
  return _mm512_cmpeq_epi64_mask(any, _mm512_setzero_si512());
}
COT_LANES_INLINE Mask are_equal(const Field& a, const Field& b) { return is_zero(subtract(a, b)); }
// RFC 9496: the least bit of the number below p.
COT_LANES_INLINE Mask is_negative(const Field& a) { return _mm512_test_epi64_mask(canonical(a).limb[0], vector_of(1)); }

// a where the mask has a bit, else b.
COT_LANES_INLINE Field select(Mask mask, const Field& a, const Field& b) {
  Field r;
  for (int i = 0; i < 5; ++i) r.limb[i] = _mm512_mask_blend_epi64(mask, b.limb[i], a.limb[i]);
  return r;
}
COT_LANES_INLINE Field magnitude(const Field& a) { return select(is_negative(a), negate(a), a); }

// a^((p - 5) / 8) = a^(2^252 - 3).
COT_LANES [[gnu::noinline]] Field power_of_root(const Field& a) {
  const Field a2 = square(a);
  const Field a9 = multiply(a, square_times(a2, 2));
  const Field a11 = multiply(a2, a9);
  const Field ones5 = multiply(a9, square(a11));  // a^(2^5 - 1), and so on
  const Field ones10 = multiply(square_times(ones5, 5), ones5);
  const Field ones20 = multiply(square_times(ones10, 10), ones10);
  const Field ones40 = multiply(square_times(ones20, 20), ones20);
  const Field ones50 = multiply(square_times(ones40, 10), ones10);
  const Field ones100 = multiply(square_times(ones50, 50), ones50);
  const Field ones200 = multiply(square_times(ones100, 100), ones100);
  const Field ones250 = multiply(square_times(ones200, 50), ones50);
  return multiply(square_times(ones250, 2), a);
}

struct Root {
  Mask was_square;
  Field root;
};

// SQRT_RATIO_M1 of RFC 9496 section 4.2: the non-negative root of u / v, or of SQRT_M1 u / v where that is no square.
COT_LANES [[gnu::noinline]] Root root_of_ratio(const Field& u, const Field& v) {
  const Field v3 = multiply(square(v), v);
  const Field v7 = multiply(square(v3), v);
  Field r = multiply(multiply(u, v3), power_of_root(multiply(u, v7)));
  const Field check = multiply(v, square(r));
  const Field minus_u = negate(u);
  const Mask is_u = are_equal(check, u);
  const Mask is_minus_u = are_equal(check, minus_u);
  const Mask is_minus_u_i = are_equal(check, multiply(minus_u, field_of(kSqrtMinusOne)));
  const Mask flipped = static_cast<Mask>(is_minus_u | is_minus_u_i);
  r = magnitude(select(flipped, multiply(r, field_of(kSqrtMinusOne)), r));
  return {static_cast<Mask>(is_u | is_minus_u), r};
}

}  // namespace
}  // namespace coterie
