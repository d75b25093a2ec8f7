// Integers of 1 to 16 bits as a stored model's payload has them: packed one behind the other (bit_packing.h), each as
// two's complement, symmetric: the least of them, which has no opposite, is none. With 1 bit, 0 is -1 and 1 is 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

struct Prelude;          // frame.h
struct QuantisedTensor;  // stored_model.h; likewise
struct StoredModel;

inline constexpr uint32_t kStoredBitsMin = 1, kStoredBitsMax = 16;

// The largest of so many bits: 1 of 1, 1 of 2, 7 of 4, 127 of 8. Precondition of all here: bits in [1, 16].
constexpr int stored_level_max(uint32_t bits) { return bits == 1 ? 1 : (1 << (bits - 1)) - 1; }

// Preconditions: packed.size() == packed_bytes(integers.size(), bits); each is in [-stored_level_max(bits),
// stored_level_max(bits)], and of 1 bit not 0.
void pack_integers(std::span<const int16_t> integers, uint32_t bits, std::span<uint8_t> packed);

// Precondition: the sizes as above. Errors: malformed (the least integer is among them; a bit behind the last one is
// set).
Status unpack_integers(ByteView packed, uint32_t bits, std::span<int16_t> integers);
// What unpack_integers would find, without a place for them.
Status check_integers(ByteView packed, uint32_t bits, uint64_t count);

// What the float32 payload of a model with such integers may come to: one bit of a file can stand for 32.
inline constexpr uint64_t kExpandedBytesMax = uint64_t{1} << 34;

// decode_stored_model with the header alone: no payload, and no integer is looked at.
Result<StoredModel> decode_stored_head(const Prelude& prelude, ByteView header_bytes);
// Those of a tensor of a model that decode_stored_model returned.
std::vector<int16_t> stored_integers(const StoredModel& stored, const QuantisedTensor& tensor);

}  // namespace coterie
