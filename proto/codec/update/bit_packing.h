// Whole numbers of a few bits each, one behind the other: number i lies in the bits [i * bits, (i + 1) * bits), counted
// from the lowest bit of the first byte. Bits behind the last number are 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

inline constexpr uint32_t kPackedBitsMax = 32;

// Bytes of `count` numbers of `bits`, whatever the width; none if they are more than 64 bits can count.
std::optional<uint64_t> packed_bytes(uint64_t count, uint32_t bits);

// Preconditions of both: 1 <= bits <= kPackedBitsMax, and of pack_bits packed.size() == packed_bytes(numbers.size(),
// bits), and no number has a bit from `bits` on.
void pack_bits(std::span<const uint16_t> numbers, uint32_t bits, std::span<uint8_t> packed);
void pack_bits(std::span<const uint32_t> numbers, uint32_t bits, std::span<uint8_t> packed);

// malformed: the bytes are not so many as the numbers need, or a bit behind the last one is set. Nothing is read then.
Status unpack_bits(ByteView packed, uint32_t bits, std::span<uint16_t> numbers);
Status unpack_bits(ByteView packed, uint32_t bits, std::span<uint32_t> numbers);
Status unpack_bits(ByteView packed, uint32_t bits, std::span<float> numbers);  // bits <= 16: exact

}  // namespace coterie
