#include <immintrin.h>

#include "secure/mask/aes256.h"

namespace coterie {

#if COT_HAS_X86_TARGETS
namespace {

// word i ^ word i - 1 ^ ... ^ word 0 of `words`: what the schedule's chain of exclusive ors comes to for four words.
COT_TARGET_AESNI inline __m128i running_xor(__m128i words) {
  words = _mm_xor_si128(words, _mm_slli_si128(words, 4));
  return _mm_xor_si128(words, _mm_slli_si128(words, 8));
}

// Round keys 2i and 2i + 1 from the two before: FIPS 197 figure 11 for Nk = 8. The instruction's constant must be one.
template <int kRcon>
COT_TARGET_AESNI inline void next_two(__m128i& even, __m128i& odd) {
  const __m128i rotated = _mm_shuffle_epi32(_mm_aeskeygenassist_si128(odd, kRcon), 0xff);
  even = _mm_xor_si128(running_xor(even), rotated);
  const __m128i substituted = _mm_shuffle_epi32(_mm_aeskeygenassist_si128(even, 0), 0xaa);
  odd = _mm_xor_si128(running_xor(odd), substituted);
}

}  // namespace

COT_TARGET_AESNI void expand_aes256_key(std::span<const uint8_t, 32> key,
                                        std::span<uint8_t, kAes256RoundKeysBytes> round_keys) {
  auto* out = reinterpret_cast<__m128i*>(round_keys.data());
  __m128i even = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key.data()));
  __m128i odd = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key.data() + 16));
  const auto put = [&out](__m128i round_key) { _mm_storeu_si128(out++, round_key); };
  put(even), put(odd);
  next_two<0x01>(even, odd), put(even), put(odd);
  next_two<0x02>(even, odd), put(even), put(odd);
  next_two<0x04>(even, odd), put(even), put(odd);
  next_two<0x08>(even, odd), put(even), put(odd);
  next_two<0x10>(even, odd), put(even), put(odd);
  next_two<0x20>(even, odd), put(even), put(odd);
  next_two<0x40>(even, odd), put(even);
}

#endif

}  // namespace coterie
