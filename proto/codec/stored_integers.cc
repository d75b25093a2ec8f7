#include "proto/codec/stored_integers.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/assert.h"
#include "base/text/concat.h"
#include "proto/codec/update/bit_packing.h"

namespace coterie {
namespace {

constexpr size_t kPieceIntegers = 4096;  // of any width they are whole bytes

template <typename Each>
void for_each_piece(uint64_t count, uint32_t bits, const Each& each) {
  COT_ASSERT(bits >= kStoredBitsMin && bits <= kStoredBitsMax);
  for (uint64_t first = 0; first < count; first += kPieceIntegers) {
    const size_t integers = static_cast<size_t>(std::min<uint64_t>(kPieceIntegers, count - first));
    each(first, integers, first * bits / 8, packed_bytes(integers, bits).value());
  }
}

int16_t integer_of(uint16_t code, uint32_t bits) {
  if (bits == 1) return code == 0 ? -1 : 1;
  const int sign = 1 << (bits - 1);
  return static_cast<int16_t>((code ^ sign) - sign);
}

template <typename Take>
Status unpack_pieces(ByteView packed, uint32_t bits, uint64_t count, const Take& take) {
  std::array<uint16_t, kPieceIntegers> codes;
  Status status;
  for_each_piece(count, bits, [&](uint64_t first, size_t integers, uint64_t from, uint64_t bytes) {
    if (!status) return;
    const std::span<uint16_t> piece = std::span(codes).first(integers);
    if (!unpack_bits(packed.subspan(from, bytes), bits, piece)) {
      status = Error(ErrorCode::malformed, "has a bit behind the last of its integers");
    } else if (bits > 1 && std::ranges::find(piece, uint16_t{1} << (bits - 1)) != piece.end()) {
      status =
          Error(ErrorCode::malformed, concat({"has -", 1 << (bits - 1), " among its integers of ", bits, " bits"}));
    } else {
      for (size_t i = 0; i < integers; ++i) take(first + i, integer_of(piece[i], bits));
    }
  });
  return status;
}

}  // namespace

void pack_integers(std::span<const int16_t> integers, uint32_t bits, std::span<uint8_t> packed) {
  std::array<uint16_t, kPieceIntegers> codes;
  const auto mask = static_cast<uint16_t>((1 << bits) - 1);
  for_each_piece(integers.size(), bits, [&](uint64_t first, size_t count, uint64_t to, uint64_t bytes) {
    for (size_t i = 0; i < count; ++i) {
      const int16_t integer = integers[first + i];
      codes[i] = bits == 1 ? static_cast<uint16_t>(integer > 0) : static_cast<uint16_t>(integer & mask);
    }
    pack_bits(std::span<const uint16_t>(codes).first(count), bits, packed.subspan(to, bytes));
  });
}

Status unpack_integers(ByteView packed, uint32_t bits, std::span<int16_t> integers) {
  COT_ASSERT(packed_bytes(integers.size(), bits) == packed.size());
  return unpack_pieces(packed, bits, integers.size(), [&](uint64_t i, int16_t integer) { integers[i] = integer; });
}

Status check_integers(ByteView packed, uint32_t bits, uint64_t count) {
  COT_ASSERT(packed_bytes(count, bits) == packed.size());
  return unpack_pieces(packed, bits, count, [](uint64_t, int16_t) {});
}

}  // namespace coterie
