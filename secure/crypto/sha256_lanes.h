// SHA-256 of 8 (AVX2) or 16 (AVX-512) messages at once, one a vector lane. Private to secure/crypto; the oracle is
// libcrypto (sha256_many_reference).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/cpu.h"

// Two widths of lanes are 110 KB of code: the engine alone, which hashes a model when it loads it, has none.
#if COT_HAS_X86_TARGETS && !defined(COT_SHA256_ONE_LANE)
#define COT_HAS_SHA256_LANES 1
#else
#define COT_HAS_SHA256_LANES 0
#endif

namespace coterie {

// How many messages to hash at once on this CPU; 1 where one stream in hardware (SHA extensions) is the faster way or
// there are no wide vectors: then sha256_lanes is not worth calling.
size_t sha256_lane_count();

// out[i] = SHA-256(prefix || messages[i * message_bytes ...]) for i in [0, lanes); lanes is 8 (this CPU has AVX2) or 16
// (it has AVX-512), message_bytes a multiple of 64 and not 0.
void sha256_lanes(size_t lanes, uint8_t prefix, const uint8_t* messages, size_t message_bytes, Digest* out);

}  // namespace coterie
