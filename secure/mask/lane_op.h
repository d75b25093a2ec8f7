// LaneOp: what becomes of a stream's bytes where they meet the lanes of a vector. Private to secure/mask.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace coterie {

static_assert(std::endian::native == std::endian::little, "a stream's lanes are little-endian and are added in place");

// `store` overwrites the bytes; add and subtract work modulo 2^16, 2^32, 2^64 on each lane of that many bits.
enum class LaneOp : uint8_t { store, add16, add32, add64, subtract16, subtract32, subtract64 };

// `op` of `stream` on `lanes`, which has as many bytes: whole lanes. The plain way, for ends and for ciphers that
// have no kernel of ours.
void combine(LaneOp op, ByteView stream, std::span<uint8_t> lanes);

}  // namespace coterie
