#include "proto/codec/update/bit_packing.h"

#include <string>

#include "base/assert.h"
#include "base/checked.h"

namespace coterie {
namespace {

template <typename Number>
void pack(std::span<const Number> numbers, uint32_t bits, std::span<uint8_t> packed) {
  COT_ASSERT(bits >= 1 && bits <= kPackedBitsMax && packed_bytes(numbers.size(), bits) == packed.size());
  uint64_t open = 0;       // bits that are no whole byte yet, the lowest first
  uint32_t open_bits = 0;  // fewer than 8 between two numbers
  size_t at = 0;
  for (const Number number : numbers) {
    open |= static_cast<uint64_t>(number) << open_bits;
    for (open_bits += bits; open_bits >= 8; open_bits -= 8, open >>= 8) packed[at++] = static_cast<uint8_t>(open);
  }
  if (open_bits > 0) packed[at] = static_cast<uint8_t>(open);
}

template <typename Number>
Status unpack(ByteView packed, uint32_t bits, std::span<Number> numbers) {
  COT_ASSERT(bits >= 1 && bits <= kPackedBitsMax);
  if (packed_bytes(numbers.size(), bits) != packed.size()) {
    return Error(ErrorCode::malformed, "update: " + std::to_string(numbers.size()) + " numbers of " +
                                           std::to_string(bits) + " bits do not lie in " +
                                           std::to_string(packed.size()) + " bytes");
  }
  const auto used = static_cast<uint32_t>(uint64_t{numbers.size()} * bits % 8);
  if (used != 0 && packed[packed.size() - 1] >> used != 0) {
    return Error(ErrorCode::malformed, "update: a bit behind the last number is set");
  }
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t open = 0;
  uint32_t open_bits = 0;
  size_t at = 0;
  for (Number& number : numbers) {
    for (; open_bits < bits; open_bits += 8) open |= uint64_t{packed[at++]} << open_bits;
    number = static_cast<Number>(open & mask);
    open >>= bits;
    open_bits -= bits;
  }
  return {};
}

}  // namespace

std::optional<uint64_t> packed_bytes(uint64_t count, uint32_t bits) {
  const std::optional<uint64_t> all = checked_multiply<uint64_t>(count, bits);
  if (!all) return std::nullopt;
  return *all / 8 + (*all % 8 == 0 ? 0 : 1);
}

void pack_bits(std::span<const uint16_t> numbers, uint32_t bits, std::span<uint8_t> packed) {
  pack(numbers, bits, packed);
}
void pack_bits(std::span<const uint32_t> numbers, uint32_t bits, std::span<uint8_t> packed) {
  pack(numbers, bits, packed);
}

Status unpack_bits(ByteView packed, uint32_t bits, std::span<uint16_t> numbers) {
  COT_ASSERT(bits <= 16);
  return unpack(packed, bits, numbers);
}
Status unpack_bits(ByteView packed, uint32_t bits, std::span<uint32_t> numbers) {
  return unpack(packed, bits, numbers);
}
Status unpack_bits(ByteView packed, uint32_t bits, std::span<float> numbers) {
  COT_ASSERT(bits <= 16);
  return unpack(packed, bits, numbers);
}

}  // namespace coterie
