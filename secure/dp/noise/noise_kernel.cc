#include "secure/dp/noise/noise_kernel.h"

#include <cstring>

#include "base/assert.h"

#if COT_HAS_X86_TARGETS
#include <immintrin.h>
#endif

namespace coterie {
namespace {

constexpr uint64_t kTop = uint64_t{1} << 63;

uint64_t load(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// The word whose highest bit is the sign, and for words of 128 bits the other one.
template <bool kWide>
uint64_t high_word(const uint8_t* words, size_t i) {
  return load(words + (kWide ? 16 * i + 8 : 8 * i));
}
inline uint64_t low_word(const uint8_t* words, size_t i) { return load(words + 16 * i); }

// magnitude, or minus it where the highest bit of `word` is set; without a branch.
int32_t with_sign(uint64_t magnitude, uint64_t word) {
  const uint64_t minus = 0 - (word >> 63);
  return static_cast<int32_t>((magnitude ^ minus) - minus);
}

// Borrows of plain subtractions count: compilers keep these free of branches on every machine.
template <bool kWide>
void draw_group(const NoiseTable& table, const uint8_t* words, int32_t* out) {
  uint64_t high[kNoiseGroup], low[kNoiseGroup], count[kNoiseGroup] = {};
  for (size_t i = 0; i < kNoiseGroup; ++i) {
    high[i] = high_word<kWide>(words, i) & ~kTop;
    if constexpr (kWide) low[i] = low_word(words, i);
  }
  // Every draw goes through the whole table, however small it is: the time must not tell how large the noise was.
  for (size_t k = 0; k < table.high.size(); ++k) {
    const uint64_t threshold = table.high[k];
    if constexpr (kWide) {
      const uint64_t threshold_low = table.low[k];
      for (size_t i = 0; i < kNoiseGroup; ++i) {
        const uint64_t difference = low[i] - threshold_low;
        const uint64_t borrow = ((~low[i] & threshold_low) | (~(low[i] ^ threshold_low) & difference)) >> 63;
        count[i] += (high[i] - threshold - borrow) >> 63;  // both below 2^63: the highest bit is the borrow
      }
    } else {
      for (size_t i = 0; i < kNoiseGroup; ++i) count[i] += (high[i] - threshold) >> 63;
    }
  }
  for (size_t i = 0; i < kNoiseGroup; ++i) out[i] = with_sign(count[i], high_word<kWide>(words, i));
}

#if COT_HAS_X86_TARGETS

// Four lanes, of which four at a time; comparisons give masks. AVX2 compares signed words only: of the low ones both
// sides have their highest bit turned.
template <bool kWide>
COT_TARGET_AVX2 void draw_group_avx2(const NoiseTable& table, const uint8_t* words, int32_t* out) {
  typedef int64_t Lanes __attribute__((vector_size(32)));
  constexpr size_t kLanes = 4, kAtOnce = 4;
  for (size_t begin = 0; begin < kNoiseGroup; begin += kLanes * kAtOnce) {
    Lanes high[kAtOnce], low[kAtOnce], count[kAtOnce];
#pragma GCC unroll 4
    for (size_t j = 0; j < kAtOnce; ++j) {
      uint64_t high_words[kLanes], low_words[kLanes] = {};
      for (size_t i = 0; i < kLanes; ++i) {
        high_words[i] = high_word<kWide>(words, begin + j * kLanes + i) & ~kTop;
        if constexpr (kWide) low_words[i] = low_word(words, begin + j * kLanes + i) ^ kTop;
      }
      std::memcpy(&high[j], high_words, sizeof high[j]);
      std::memcpy(&low[j], low_words, sizeof low[j]);
      count[j] = Lanes{};
    }
    for (size_t k = 0; k < table.high.size(); ++k) {
      const Lanes threshold = Lanes{} + static_cast<int64_t>(table.high[k]);
      if constexpr (kWide) {
        const Lanes threshold_low = Lanes{} + static_cast<int64_t>(table.low[k] ^ kTop);
#pragma GCC unroll 4
        for (size_t j = 0; j < kAtOnce; ++j) {
          count[j] -= (high[j] < threshold) | ((high[j] == threshold) & (low[j] < threshold_low));
        }
      } else {
#pragma GCC unroll 4
        for (size_t j = 0; j < kAtOnce; ++j) count[j] -= high[j] < threshold;
      }
    }
#pragma GCC unroll 4
    for (size_t j = 0; j < kAtOnce; ++j) {
      for (size_t i = 0; i < kLanes; ++i) {
        const size_t draw = begin + j * kLanes + i;
        out[draw] = with_sign(static_cast<uint64_t>(count[j][i]), high_word<kWide>(words, draw));
      }
    }
  }
}

// Eight lanes walk down the tree. A node's threshold is looked up within registers (VPERMI2Q), out of all chunks of 16
// nodes of its level: as many loads for every draw, in the same order, as the scan makes, at a fraction of the
// compares.
template <bool kWide>
COT_TARGET_AVX512 void draw_group_avx512(const NoiseTable& table, const uint8_t* words, int32_t* out) {
  constexpr int kAtOnce = kNoiseGroup / 8;
  constexpr __mmask8 kAll = 0xff;  // GCC 12 warns of its own header where there is no mask; it costs nothing
  const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
  __m512i word[kAtOnce], low[kAtOnce], node[kAtOnce];
#pragma GCC unroll 4
  for (int j = 0; j < kAtOnce; ++j) {
    if constexpr (kWide) {
      const __m512i first = _mm512_loadu_si512(words + 128 * j), second = _mm512_loadu_si512(words + 128 * j + 64);
      low[j] = _mm512_permutex2var_epi64(first, even, second);
      word[j] = _mm512_permutex2var_epi64(first, odd, second);
    } else {
      low[j] = _mm512_setzero_si512();
      word[j] = _mm512_loadu_si512(words + 64 * j);
    }
    node[j] = _mm512_set1_epi64(1);
  }
  const __m512i below_top = _mm512_set1_epi64(static_cast<int64_t>(~kTop));
  for (int level = 0; level < table.levels; ++level) {
    const size_t first_chunk = level < 4 ? 0 : size_t{1} << (level - 4);
    const size_t last_chunk = level < 4 ? 0 : 2 * first_chunk - 1;
    __m512i high_here[kAtOnce], low_here[kAtOnce];
#pragma GCC unroll 4
    for (int j = 0; j < kAtOnce; ++j) high_here[j] = low_here[j] = _mm512_setzero_si512();
    for (size_t chunk = first_chunk; chunk <= last_chunk; ++chunk) {
      const __m512i number = _mm512_set1_epi64(static_cast<int64_t>(chunk));
      const __m512i high0 = _mm512_loadu_si512(table.tree_high.data() + 16 * chunk);
      const __m512i high1 = _mm512_loadu_si512(table.tree_high.data() + 16 * chunk + 8);
      __m512i low0 = high0, low1 = high1;
      if constexpr (kWide) {
        low0 = _mm512_loadu_si512(table.tree_low.data() + 16 * chunk);
        low1 = _mm512_loadu_si512(table.tree_low.data() + 16 * chunk + 8);
      }
#pragma GCC unroll 4
      for (int j = 0; j < kAtOnce; ++j) {
        const __mmask8 here = _mm512_cmpeq_epi64_mask(_mm512_maskz_srli_epi64(kAll, node[j], 4), number);
        high_here[j] = _mm512_mask_mov_epi64(high_here[j], here, _mm512_permutex2var_epi64(high0, node[j], high1));
        if constexpr (kWide) {
          low_here[j] = _mm512_mask_mov_epi64(low_here[j], here, _mm512_permutex2var_epi64(low0, node[j], low1));
        }
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < kAtOnce; ++j) {
      const __m512i high = _mm512_and_si512(word[j], below_top);
      __mmask8 above = _mm512_cmplt_epi64_mask(high, high_here[j]);
      if constexpr (kWide) {
        above = _kor_mask8(
            above, _mm512_mask_cmplt_epu64_mask(_mm512_cmpeq_epi64_mask(high, high_here[j]), low[j], low_here[j]));
      }
      const __m512i left = _mm512_add_epi64(node[j], node[j]);
      node[j] = _mm512_mask_add_epi64(left, above, left, _mm512_set1_epi64(1));
    }
  }
  const __m512i leaves = _mm512_set1_epi64(int64_t{1} << table.levels);
#pragma GCC unroll 4
  for (int j = 0; j < kAtOnce; ++j) {
    const __m512i minus = _mm512_maskz_srai_epi64(kAll, word[j], 63);
    const __m512i magnitude = _mm512_sub_epi64(node[j], leaves);
    const __m512i noise = _mm512_sub_epi64(_mm512_xor_si512(magnitude, minus), minus);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 8 * j), _mm512_maskz_cvtepi64_epi32(kAll, noise));
  }
}

#endif

using DrawGroup = void (*)(const NoiseTable&, const uint8_t*, int32_t*);

template <bool kWide>
DrawGroup draw_group_of(SimdLevel level) {
  COT_ASSERT(level <= cpu_simd_level());
#if COT_HAS_X86_TARGETS
  switch (level) {
    case SimdLevel::avx512: return &draw_group_avx512<kWide>;
    case SimdLevel::avx2: return &draw_group_avx2<kWide>;
    case SimdLevel::baseline: break;
  }
#endif
  return &draw_group<kWide>;
}

}  // namespace

void draw_noise(SimdLevel level, const NoiseTable& table, const uint8_t* words, size_t count, int32_t* out) {
  COT_ASSERT(count % kNoiseGroup == 0);
  const bool wide = table.word == NoiseWord::bits128;
  const DrawGroup draw = wide ? draw_group_of<true>(level) : draw_group_of<false>(level);
  for (size_t i = 0; i < count; i += kNoiseGroup) draw(table, words + i * (wide ? 16 : 8), out + i);
}

}  // namespace coterie
