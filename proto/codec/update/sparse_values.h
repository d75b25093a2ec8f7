// The largest values of an update (UpdateEncoding::top_k): which they are, and what. Three parts, each of whole bytes:
//
//   values   sent_count of them, by rising index: float32, or levels of `bits` (bit_packing.h)
//   low      the low l bits of each index (bit_packing.h), l = floor(log2(value_count / sent_count))
//   high     sent_count + ((value_count - 1) >> l) bits, of which (index >> l) + i is set for the i-th index, from 0 on
//
// An index takes l + 2 bits or so (Elias 1974, Fano 1971), as few as codes of the gaps between them do, and always
// equally many: a plan says how long its updates are.
//
// A level q of b bits is the value scale * (q - (2^(b - 1) - 1)), a product of two float32; 2^b - 1 is no level.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

struct SparseShape {
  uint64_t value_count = 0;
  uint64_t sent_count = 0;
  uint32_t bits = 0;  // of a value
};

// None if no plan has such updates (top_k.h).
std::optional<uint64_t> sparse_bytes(const SparseShape& shape);

// ---- Preconditions of what follows: sparse_bytes(shape) has a value, and `values` are value_count.

// The magnitude of the largest level's, from scale on: 2^(bits - 1) - 1. bits <= kTopKBitsMax.
int32_t level_reach(uint32_t bits);

// `indices` rise, sent_count of them. Their values are taken of `values`, or of `levels`, one for each index, where
// bits are few. packed.size() == sparse_bytes(shape).
void pack_sparse(const SparseShape& shape, std::span<const uint32_t> indices, std::span<const float> values,
                 std::span<const uint16_t> levels, std::span<uint8_t> packed);

// All values, 0 where none was sent; `scale` is not looked at where values are float32. malformed if the bytes are not
// so many, an index is not above the one before it or no value's, there are more or fewer than sent_count, a level is
// none, or a bit behind a part's last is set. `values` mean nothing then.
Status unpack_sparse(ByteView packed, const SparseShape& shape, float scale, std::span<float> values);

}  // namespace coterie
