// A random rotation that spreads an update over all its values, so that a grid of few levels fits each of them, the
// same on every device of a round (Suresh, Yu, Kumar, McMahan, ICML 2017, section 3).
//
// N = rotation_width(count), the largest power of two that is not above count. The first N values are multiplied by
// random signs and by the Walsh-Hadamard matrix divided by sqrt(N); then the last N, by other signs. Where count is a
// power of two the first is all. Nothing is padded: an update has as many values rotated as it had.
//
// Unlike secure/dp/encode/rotation.h it has no blocks: one layer with most of an update's norm would else crowd its own
// block, and a grid for the whole update would cut it. The price is that it needs the whole vector in memory.
//
// Deterministic: float32 additions and multiplications in one order, the same bits on every machine. Orthogonal up to
// their rounding.
#pragma once

#include <cstddef>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "secure/dp/noise/key_stream_source.h"

namespace coterie {

// count > 0.
size_t rotation_width(size_t count);

// In place. Bit i of the bytes of `signs` is of value i in the first step, bit N + i of value count - N + i in the
// second, N rounded up to whole bytes.
void rotate_whole(const ByteSource& signs, std::span<float> values);
void rotate_whole_back(const ByteSource& signs, std::span<float> values);

// The signs of the updates that are trained from this model: the same whatever level a job has, and others each round,
// as its model is another. Anybody may know them; no device can choose them.
Result<KeyStreamSource> update_rotation_signs(const Digest& model);

}  // namespace coterie
