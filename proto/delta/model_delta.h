// What a delta has of a model's values: the difference of two versions, rounded to few bits a value.
//
// The payload follows the model's values in the order in which they lie:
//
//   parameter   blocks of kDeltaBlockValues values, the last of a tensor shorter; each its scale (float32), then a
//               level a value in `bits` bits (bit_packing.h), from 0 to 2 L; L = 2^(bits - 1) - 1
//   state       float32 as they are to be: a variance that is rounded may be below 0
//   else        nothing: padding is 0 in every version
//
//   value <- value + scale * (level - L)
//
// computed in double, where the product is exact, and rounded once: the same bits on every machine. A block whose
// scale is 0 has no levels and moves nothing: frozen layers cost 4 bytes a block. Each tensor has blocks of its own, so
// that a layer of small steps is not rounded by the steps of another.
//
// Rounding is to nearest, with scale = largest |difference| of the block / L (at most the largest float32), so that an
// error is at most half a scale, and the rounding of the sum: half a unit in the result's last place. It is not lost:
// who makes the next delta makes it from where this one has led (error feedback; Seide et al. 2014; Karimireddy et al.
// 2019).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/download_rules.h"
#include "proto/messages/model.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

inline constexpr size_t kDeltaBlockValues = 256;

struct DeltaRange {
  ValueRange values;      // of one tensor
  bool is_exact = false;  // state
};
// The tensors with values, by where they lie. Precondition: the graph was decoded (decode_model).
std::vector<DeltaRange> delta_ranges(const ModelGraph& graph);

// Appends what a delta has of one block: how `base` becomes `next`, of as many finite values, at most
// kDeltaBlockValues; `bits` in [kDeltaBitsMin, kDeltaBitsMax].
void append_block(std::span<const float> base, std::span<const float> next, uint32_t bits, Bytes& payload);

// The bytes that a payload has at most: where each block moves.
uint64_t payload_bytes_max(std::span<const DeltaRange> ranges, uint32_t bits);

// Moves the values of one block of a base by the front of `payload`, and takes that off it. malformed: it ends too
// early, its scale is no finite number of at least 0, a level is above 2 L, a bit behind the levels is set, or a value
// would not be finite.
Status move_block(ByteView& payload, uint32_t bits, std::span<float> values);

// State: the front of `payload`, as it is. malformed: it ends too early, or a value is not finite.
Status take_exact(ByteView& payload, std::span<float> values);

// Appends what a delta has of values of one tensor, which begin with a block: how `base` becomes `next`. Moves `base`
// by it, as whoever gets the delta does. malformed: a value would not be finite.
Status append_moved(const DeltaRange& range, std::span<const float> next, uint32_t bits, std::span<float> base,
                    Bytes& payload);

}  // namespace coterie
