// A column of bytes as the numbers that a model takes: byte * scale + offset (proto/messages/dataset.h). Product and
// sum are rounded apart, so that every instruction set gives the same bits.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/cpu.h"

namespace coterie {

// `numbers` is as long as `bytes`, and does not overlap it.
void numbers_of_bytes(ByteView bytes, float scale, float offset, std::span<float> numbers);

// By the instructions of this level, which the CPU has.
void numbers_of_bytes(SimdLevel level, ByteView bytes, float scale, float offset, std::span<float> numbers);

}  // namespace coterie
