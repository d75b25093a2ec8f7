// AES-256 in counter mode by the CPU's own instructions, fused with the addition. Private to secure/mask.
//
// Block n of a key's stream is AES-256(key, n as a 128-bit big-endian integer), as libcrypto's EVP_aes_256_ctr makes it
// from a zero counter; n < 2^32. No table and no branch depends on the key or on the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "secure/mask/lane_op.h"

#if COT_HAS_X86_TARGETS
#define COT_TARGET_AESNI [[gnu::target("sse2,ssse3,aes")]]
#define COT_TARGET_VAES256 [[gnu::target("avx2,aes,vaes")]]
#define COT_TARGET_VAES512 [[gnu::target("avx2,avx512f,avx512bw,avx512dq,avx512vl,aes,vaes")]]
#endif

namespace coterie {

inline constexpr size_t kAesBlockBytes = 16;
inline constexpr size_t kAes256Rounds = 14;
inline constexpr size_t kAes256RoundKeysBytes = (kAes256Rounds + 1) * kAesBlockBytes;

#if COT_HAS_X86_TARGETS

// The key schedule of FIPS 197 section 5.2. The CPU must have AES-NI.
void expand_aes256_key(std::span<const uint8_t, 32> key, std::span<uint8_t, kAes256RoundKeysBytes> round_keys);

// Blocks [first_block, first_block + out.size() / 16) of the stream, `op` onto `out`: whole blocks, at any address. The
// CPU must have the instructions of the name. What is left of round keys on the stack is wiped.
using Aes256Run = void(std::span<const uint8_t, kAes256RoundKeysBytes> round_keys, LaneOp op, uint32_t first_block,
                       std::span<uint8_t> out);
Aes256Run run_aes256_aesni, run_aes256_vaes256, run_aes256_vaes512;

#endif

}  // namespace coterie
