#include "secure/dp/encode/rotation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/assert.h"

namespace coterie {
namespace {

// values <- Walsh-Hadamard matrix * values, unscaled: log2(size) passes of additions and subtractions.
void transform(std::span<float> values) {
  for (size_t half = 1; half < values.size(); half *= 2) {
    for (size_t begin = 0; begin < values.size(); begin += 2 * half) {
      float* low = values.data() + begin;
      float* high = low + half;
      for (size_t i = 0; i < half; ++i) {
        const float sum = low[i] + high[i], difference = low[i] - high[i];
        low[i] = sum;
        high[i] = difference;
      }
    }
  }
}

// values[i] * factor, minus it where bit i is set; begin is the position of values[0], a multiple of 8.
void multiply_by_signs(const ByteSource& signs, size_t begin, float factor, std::span<float> values) {
  std::array<uint8_t, kRotationBlock / 8> bits{};
  signs.write(begin / 8, std::span(bits).first((values.size() + 7) / 8));
  for (size_t i = 0; i < values.size(); ++i) {
    // The sign bit is flipped: a multiplication by -1 would be the same, and slower.
    const uint32_t minus = (bits[i / 8] >> (i % 8) & 1u) << 31;
    values[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(values[i] * factor) ^ minus);
  }
}

template <typename Use>
void for_each_block(std::span<float> values, Use use) {
  COT_ASSERT(rotated_size(values.size()) == values.size());
  for (size_t begin = 0; begin < values.size(); begin += kRotationBlock) {
    use(begin, values.subspan(begin, std::min(kRotationBlock, values.size() - begin)));
  }
}

float scale_of(size_t block) { return static_cast<float>(1 / std::sqrt(static_cast<double>(block))); }

}  // namespace

size_t rotated_size(size_t count) {
  const size_t rest = count % kRotationBlock;
  return rest == 0 ? count : count - rest + smallest_rotation_block(count);
}

size_t smallest_rotation_block(size_t count) {
  const size_t rest = count % kRotationBlock;
  if (rest == 0) return kRotationBlock;
  return count < kRotationBlock ? std::bit_ceil(rest) : std::max(std::bit_ceil(rest), kRotationLastBlockMin);
}

// The matrix is symmetric and, so scaled, its own inverse. The scale goes with the signs: a pass less over the block.
void rotate(const ByteSource& signs, std::span<float> values) {
  for_each_block(values, [&](size_t begin, std::span<float> block) {
    multiply_by_signs(signs, begin, scale_of(block.size()), block);
    transform(block);
  });
}

void rotate_back(const ByteSource& signs, std::span<float> values) {
  for_each_block(values, [&](size_t begin, std::span<float> block) {
    transform(block);
    multiply_by_signs(signs, begin, scale_of(block.size()), block);
  });
}

}  // namespace coterie
