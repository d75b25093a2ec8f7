#include "secure/mask/aes256.h"

#if COT_HAS_X86_TARGETS
#include <immintrin.h>

#include <cstring>

#include "base/assert.h"
#include "secure/crypto/secret.h"

#define COT_MASK_TARGET COT_TARGET_AESNI

namespace coterie {
namespace {

using Vector = __m128i;

COT_MASK_TARGET inline Vector load(const void* from) { return _mm_loadu_si128(static_cast<const Vector*>(from)); }
COT_MASK_TARGET inline void store(void* to, Vector v) { _mm_storeu_si128(static_cast<Vector*>(to), v); }
COT_MASK_TARGET inline Vector broadcast(const void* block) { return load(block); }
COT_MASK_TARGET inline Vector exclusive_or(Vector a, Vector b) { return _mm_xor_si128(a, b); }
COT_MASK_TARGET inline Vector aes_round(Vector state, Vector key) { return _mm_aesenc_si128(state, key); }
COT_MASK_TARGET inline Vector aes_last_round(Vector state, Vector key) { return _mm_aesenclast_si128(state, key); }
COT_MASK_TARGET inline Vector add32(Vector a, Vector b) { return _mm_add_epi32(a, b); }

template <LaneOp kOp>
COT_MASK_TARGET inline Vector combine_lanes(Vector lanes, Vector stream) {
  if constexpr (kOp == LaneOp::add16) return _mm_add_epi16(lanes, stream);
  if constexpr (kOp == LaneOp::add32) return _mm_add_epi32(lanes, stream);
  if constexpr (kOp == LaneOp::add64) return _mm_add_epi64(lanes, stream);
  if constexpr (kOp == LaneOp::subtract16) return _mm_sub_epi16(lanes, stream);
  if constexpr (kOp == LaneOp::subtract32) return _mm_sub_epi32(lanes, stream);
  if constexpr (kOp == LaneOp::subtract64) return _mm_sub_epi64(lanes, stream);
  return stream;
}

#include "secure/mask/aes256_ctr_inl.h"

}  // namespace

COT_MASK_TARGET void run_aes256_aesni(std::span<const uint8_t, kAes256RoundKeysBytes> round_keys, LaneOp op,
                                      uint32_t first_block, std::span<uint8_t> out) {
  run_aes256(round_keys, op, first_block, out);
}

}  // namespace coterie
#endif
