// A random rotation that spreads an update over its coordinates: no one coordinate of a sum is then large, so that
// fewer bits a lane are enough, and rounding adds little (Kairouz, Liu, Steinke, ICML 2021, section 4).
//
// Blocks of 2^14 coordinates, the last one of the power of two that holds the rest (filled up with zeros; beside other
// blocks at least 2^10, so that it spreads, too): each is multiplied by random signs, then by the Walsh-Hadamard
// matrix, divided by the square root of its size. All members of a cohort rotate by the same signs, so the sum is the
// rotated sum.
//
// Deterministic: float32 additions and multiplications in one order, the same bits on every machine. Orthogonal up to
// their rounding: norms and inverse are within 14 parts in 2^23.
#pragma once

#include <cstddef>
#include <span>

#include "secure/dp/noise/byte_source.h"

namespace coterie {

inline constexpr size_t kRotationBlock = size_t{1} << 14;

inline constexpr size_t kRotationLastBlockMin = size_t{1} << 10;

// How many coordinates `count` of them become: at most twice as many, less than one block more.
size_t rotated_size(size_t count);

// The size of the smallest block, count > 0: by it the spreading is limited.
size_t smallest_rotation_block(size_t count);

// In place; values.size() == rotated_size(count), where what lies behind the first `count` is 0. Coordinate i takes bit
// i of the bytes of `signs`, which no owner of an update must be able to choose.
void rotate(const ByteSource& signs, std::span<float> values);
void rotate_back(const ByteSource& signs, std::span<float> values);

}  // namespace coterie
