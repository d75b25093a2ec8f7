#include "secure/secret_sharing/gf256_rows.h"

#include <array>
#include <cstring>

#include "base/cpu.h"

#if COT_HAS_X86_TARGETS
#include <immintrin.h>
#endif

namespace coterie::gf256 {
namespace {

// A row as four numbers of eight bytes each.
using Row = std::array<uint64_t, kRowBytes / 8>;

Row load(const uint8_t* bytes) {
  Row row;
  std::memcpy(row.data(), bytes, kRowBytes);
  return row;
}

void store(const Row& row, uint8_t* bytes) { std::memcpy(bytes, row.data(), kRowBytes); }

// Every byte times x: shifted, and reduced where a bit fell out.
uint64_t times_x(uint64_t bytes) {
  constexpr uint64_t kEachByte = 0x0101010101010101;
  const uint64_t fallen = bytes >> 7 & kEachByte;
  return ((bytes & 0x7f * kEachByte) << 1) ^ fallen * 0x1b;
}

// number * row + other: the bits of the number from the highest, as in Horner's scheme.
Row multiply_add(uint8_t number, const Row& row, const Row& other) {
  Row sum{};
  for (int bit = 7; bit >= 0; --bit) {
    // No branch and no table on secrets: which line of a cache a look-up touches can be seen from outside. Bit i of the
    // number is a mask of all ones or none.
    const uint64_t mask = 0 - uint64_t{number >> bit & 1u};
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = times_x(sum[i]) ^ (row[i] & mask);
  }
  for (size_t i = 0; i < sum.size(); ++i) sum[i] ^= other[i];
  return sum;
}

void evaluate_portable(std::span<const uint8_t> coefficients, std::span<uint8_t> shares) {
  const size_t count = coefficients.size() / kRowBytes;
  for (size_t i = 0; i < shares.size() / kRowBytes; ++i) {
    Row sum = load(&coefficients[(count - 1) * kRowBytes]);
    for (size_t k = count - 1; k-- > 0;) {
      sum = multiply_add(static_cast<uint8_t>(i + 1), sum, load(&coefficients[k * kRowBytes]));
    }
    store(sum, &shares[i * kRowBytes]);
  }
}

void combine_portable(std::span<const uint8_t> numbers, const uint8_t* const* rows, uint8_t* sum) {
  Row total{};
  for (size_t i = 0; i < numbers.size(); ++i) total = multiply_add(numbers[i], load(rows[i]), total);
  store(total, sum);
}

#if COT_HAS_X86_TARGETS

COT_TARGET_GFNI inline __m256i load256(const uint8_t* bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}

COT_TARGET_GFNI inline void store256(__m256i row, uint8_t* bytes) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes), row);
}

// So many shares at once that their chains of multiplications hide each other's latency, and sums and x fit registers.
constexpr size_t kTogether = 6;

template <size_t kCount>
COT_TARGET_GFNI inline void evaluate_some(const uint8_t* coefficients, size_t count, size_t first, uint8_t* shares) {
  __m256i x[kCount], sum[kCount];
  const __m256i highest = load256(coefficients + (count - 1) * kRowBytes);
  for (size_t i = 0; i < kCount; ++i) {
    x[i] = _mm256_set1_epi8(static_cast<char>(first + i + 1));
    sum[i] = highest;
  }
  for (size_t k = count - 1; k-- > 0;) {
    const __m256i coefficient = load256(coefficients + k * kRowBytes);
    for (size_t i = 0; i < kCount; ++i) sum[i] = _mm256_xor_si256(_mm256_gf2p8mul_epi8(sum[i], x[i]), coefficient);
  }
  for (size_t i = 0; i < kCount; ++i) store256(sum[i], shares + (first + i) * kRowBytes);
}

COT_TARGET_GFNI void evaluate_gfni(std::span<const uint8_t> coefficients, std::span<uint8_t> shares) {
  const size_t count = coefficients.size() / kRowBytes, shares_count = shares.size() / kRowBytes;
  size_t i = 0;
  for (; i + kTogether <= shares_count; i += kTogether) {
    evaluate_some<kTogether>(coefficients.data(), count, i, shares.data());
  }
  for (; i + 2 <= shares_count; i += 2) evaluate_some<2>(coefficients.data(), count, i, shares.data());
  for (; i < shares_count; ++i) evaluate_some<1>(coefficients.data(), count, i, shares.data());
}

COT_TARGET_GFNI void combine_gfni(std::span<const uint8_t> numbers, const uint8_t* const* rows, uint8_t* sum) {
  __m256i total = _mm256_setzero_si256();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const __m256i number = _mm256_set1_epi8(static_cast<char>(numbers[i]));
    total = _mm256_xor_si256(total, _mm256_gf2p8mul_epi8(load256(rows[i]), number));
  }
  store256(total, sum);
}

#endif

}  // namespace

const RowKernels& portable_row_kernels() {
  static constexpr RowKernels kPortable = {"portable", evaluate_portable, combine_portable};
  return kPortable;
}

const RowKernels& row_kernels() {
#if COT_HAS_X86_TARGETS
  static constexpr RowKernels kGfni = {"gfni", evaluate_gfni, combine_gfni};
  if (cpu_has_gfni()) return kGfni;
#endif
  return portable_row_kernels();
}

}  // namespace coterie::gf256
