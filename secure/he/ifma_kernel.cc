#include "secure/he/ifma_kernel.h"

#include "secure/crypto/cpu_ifma.h"

#if COT_HAS_X86_TARGETS
#include <immintrin.h>

#include "base/assert.h"

#define COT_LANES COT_TARGET_IFMA

namespace coterie::he {
namespace {

using Vector = __m512i;
using Columns = Vector[kDigitsMax];  // sums in columns of 52 bits, which carry into the next one at the end

COT_LANES inline Vector load(const uint64_t* from) { return _mm512_load_si512(from); }
COT_LANES inline void store(uint64_t* to, Vector v) { _mm512_store_si512(to, v); }
COT_LANES inline Vector add(Vector a, Vector b) { return _mm512_add_epi64(a, b); }
COT_LANES inline Vector vector_of(uint64_t word) { return _mm512_set1_epi64(static_cast<int64_t>(word)); }
COT_LANES inline Vector carry_of(Vector v) { return _mm512_srli_epi64(v, kDigitBits); }
COT_LANES inline Vector digit_mask() { return vector_of((uint64_t{1} << kDigitBits) - 1); }
// sum + the low or the high 52 bits of a b; digits' upper 12 bits do not count.
COT_LANES inline Vector add_low(Vector sum, Vector a, Vector b) { return _mm512_madd52lo_epu64(sum, a, b); }
COT_LANES inline Vector add_high(Vector sum, Vector a, Vector b) { return _mm512_madd52hi_epu64(sum, a, b); }

COT_LANES void write_digits(size_t digits, const Vector* columns, uint64_t* out) {
  Vector carry = _mm512_setzero_si512();
  for (size_t j = 0; j < digits; ++j) {
    const Vector sum = add(columns[j], carry);
    carry = carry_of(sum);
    store(out + 8 * j, _mm512_and_si512(sum, digit_mask()));
  }
}

// One digit of a Montgomery reduction: columns = (columns + a b [+ c d] + q n) / 2^52 for digits a and c of all lanes,
// with the q that makes it exact. A column gets at most 8 terms below 2^52 in each of 64 steps: no overflow.
template <bool kTwoProducts>
COT_LANES inline Vector add_and_shift(const LaneModulus& m, Vector a, const uint64_t* b, Vector c, const uint64_t* d,
                                      Vector* columns) {
  const Vector zero = _mm512_setzero_si512();
  Vector b_below = load(b), d_below = kTwoProducts ? load(d) : zero, n_below = load(m.modulus);
  Vector lowest = add_low(columns[0], a, b_below);
  if constexpr (kTwoProducts) lowest = add_low(lowest, c, d_below);
  const Vector q = add_low(zero, lowest, vector_of(m.inverse));
  Vector carry = carry_of(add_low(lowest, q, n_below));
  for (size_t j = 1; j < m.digits; ++j) {
    const Vector b_here = load(b + 8 * j), n_here = load(m.modulus + 8 * j);
    // Two sums, so that neither waits for the other.
    Vector of_product = add_high(add_low(columns[j], a, b_here), a, b_below);
    const Vector of_modulus = add_high(add_low(carry, q, n_here), q, n_below);
    if constexpr (kTwoProducts) {
      const Vector d_here = load(d + 8 * j);
      of_product = add(of_product, add_high(add_low(zero, c, d_here), c, d_below));
      d_below = d_here;
    }
    columns[j - 1] = add(of_product, of_modulus);
    carry = zero;
    b_below = b_here;
    n_below = n_here;
  }
  Vector highest = add_high(carry, a, b_below);
  if constexpr (kTwoProducts) highest = add_high(highest, c, d_below);
  columns[m.digits - 1] = add_high(highest, q, n_below);
  return q;
}

COT_LANES void multiply_low(const LaneModulus& m, const uint64_t* a, const uint64_t* b, uint64_t* out) {
  Columns low;
  for (size_t j = 0; j < m.digits; ++j) low[j] = _mm512_setzero_si512();
  for (size_t i = 0; i < m.digits; ++i) {
    add_and_shift<false>(m, load(a + 8 * i), b, _mm512_setzero_si512(), nullptr, low);
  }
  write_digits(m.digits, low, out);
}

// low = t of a b, high = -q + R - 1 + offset, which is -q modulo n: what the other half begins with.
COT_LANES void begin_pair(const LaneModulus& m, const uint64_t* a, const uint64_t* b, Vector* low, Vector* high) {
  for (size_t j = 0; j < m.digits; ++j) low[j] = _mm512_setzero_si512();
  for (size_t i = 0; i < m.digits; ++i) {
    const Vector q = add_and_shift<false>(m, load(a + 8 * i), b, _mm512_setzero_si512(), nullptr, low);
    high[i] = add(load(m.offset + 8 * i), _mm512_sub_epi64(digit_mask(), q));
  }
}

COT_LANES void multiply(const LaneModulus& m, const uint64_t* a, const uint64_t* b, uint64_t* out) {
  Columns low, high;
  const uint64_t *a_high = a + 8 * m.digits, *b_high = b + 8 * m.digits;
  begin_pair(m, a, b, low, high);
  for (size_t i = 0; i < m.digits; ++i) {
    add_and_shift<true>(m, load(a + 8 * i), b_high, load(a_high + 8 * i), b, high);
  }
  write_digits(m.digits, low, out);
  write_digits(m.digits, high, out + 8 * m.digits);
}

COT_LANES void square(const LaneModulus& m, const uint64_t* a, uint64_t* out) {
  Columns low, high;
  alignas(64) uint64_t twice[8 * kDigitsMax];
  for (size_t j = 0; j < m.digits; ++j) low[j] = add(load(a + 8 * j), load(a + 8 * j));
  write_digits(m.digits, low, twice);
  begin_pair(m, a, a, low, high);
  for (size_t i = 0; i < m.digits; ++i) {
    add_and_shift<false>(m, load(twice + 8 * i), a + 8 * m.digits, _mm512_setzero_si512(), nullptr, high);
  }
  write_digits(m.digits, low, out);
  write_digits(m.digits, high, out + 8 * m.digits);
}

// Word j of row l to word l of row j.
COT_LANES inline void transpose(Vector (&v)[8]) {
  Vector pairs[8], fours[8];
  for (size_t i = 0; i < 8; i += 2) {
    pairs[i] = _mm512_unpacklo_epi64(v[i], v[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi64(v[i], v[i + 1]);
  }
  for (size_t i = 0; i < 8; i += 4) {
    for (size_t k = 0; k < 2; ++k) {
      fours[i + k] = _mm512_shuffle_i64x2(pairs[i + k], pairs[i + k + 2], 0x88);
      fours[i + k + 2] = _mm512_shuffle_i64x2(pairs[i + k], pairs[i + k + 2], 0xdd);
    }
  }
  for (size_t i = 0; i < 4; ++i) {
    v[i] = _mm512_shuffle_i64x2(fours[i], fours[i + 4], 0x88);
    v[i + 4] = _mm512_shuffle_i64x2(fours[i], fours[i + 4], 0xdd);
  }
}

COT_LANES void to_lanes(size_t words, const uint64_t* const* rows, uint64_t* lanes) {
  for (size_t j = 0; j < words; j += 8) {
    Vector v[8];
    for (size_t l = 0; l < kLanes; ++l) v[l] = load(rows[l] + j);
    transpose(v);
    for (size_t i = 0; i < 8; ++i) store(lanes + 8 * (j + i), v[i]);
  }
}

COT_LANES void to_rows(size_t words, const uint64_t* lanes, uint64_t* const* rows) {
  for (size_t j = 0; j < words; j += 8) {
    Vector v[8];
    for (size_t i = 0; i < 8; ++i) v[i] = load(lanes + 8 * (j + i));
    transpose(v);
    for (size_t l = 0; l < kLanes; ++l) store(rows[l] + j, v[l]);
  }
}

// All ones where a and b are equal, by arithmetic: a compiler may turn a comparison and a load into a masked load,
// whose time could depend on the mask. Both are below 2^63.
COT_LANES inline Vector ones_if_equal(Vector a, Vector b) {
  const Vector less_one = _mm512_sub_epi64(_mm512_xor_si512(a, b), vector_of(1));
  return _mm512_srai_epi64(less_one, 63);
}
// found | (value & mask)
COT_LANES inline Vector add_selected(Vector found, Vector value, Vector mask) {
  return _mm512_ternarylogic_epi64(found, value, mask, 0xf8);
}

COT_LANES void select_lanes(size_t words, const uint64_t* table, size_t entries, uint64_t index, uint64_t* out) {
  for (size_t j = 0; j < words; j += 8) {
    Vector found[8];
    for (Vector& v : found) v = _mm512_setzero_si512();
    for (size_t e = 0; e < entries; ++e) {
      const Vector mask = ones_if_equal(vector_of(index), vector_of(e));
      const uint64_t* const entry = table + 8 * (e * words + j);
      for (size_t i = 0; i < 8; ++i) found[i] = add_selected(found[i], load(entry + 8 * i), mask);
    }
    for (size_t i = 0; i < 8; ++i) store(out + 8 * (j + i), found[i]);
  }
}

COT_LANES void select_rows(size_t words, const uint64_t* table, size_t entries, const uint64_t* indices,
                           uint64_t* out) {
  const Vector wanted = _mm512_loadu_si512(indices);
  for (size_t j = 0; j < words; j += 8) {
    Vector found[8];
    for (Vector& v : found) v = _mm512_setzero_si512();
    for (size_t e = 0; e < entries; ++e) {
      const Vector mask = ones_if_equal(wanted, vector_of(e));
      const uint64_t* const entry = table + entries * j + 8 * e;
      for (size_t i = 0; i < 8; ++i) found[i] = add_selected(found[i], vector_of(entry[i]), mask);
    }
    for (size_t i = 0; i < 8; ++i) store(out + 8 * (j + i), found[i]);
  }
}

}  // namespace

const LaneKernel kIfmaKernel = {"avx512-ifma", multiply, square,      multiply_low,
                                to_lanes,      to_rows,  select_rows, select_lanes};

}  // namespace coterie::he
#endif
