#include "secure/quantize/shared_rotation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"

namespace coterie {
namespace {

constexpr size_t kSignsTile = size_t{1} << 15;  // values

// values <- Walsh-Hadamard matrix * values, unscaled. Halves first: what fits a cache is finished before the next part
// is begun. Each value is made by the same additions in either order.
void transform(float* values, size_t size) {
  for (size_t half = size / 2; half > 0; half /= 2) {
    // The passes over the whole vector come first, then each part is finished while it is in the cache.
    if (half * 2 <= kSignsTile && size > kSignsTile) {
      for (size_t begin = 0; begin < size; begin += half * 2) transform(values + begin, half * 2);
      return;
    }
    for (size_t begin = 0; begin < size; begin += 2 * half) {
      float* low = values + begin;
      float* high = low + half;
      for (size_t i = 0; i < half; ++i) {
        const float sum = low[i] + high[i], difference = low[i] - high[i];
        low[i] = sum;
        high[i] = difference;
      }
    }
  }
}

// values[i] * factor, minus it where bit i from `first_byte` on is set.
void multiply_by_signs(const ByteSource& signs, uint64_t first_byte, float factor, std::span<float> values) {
  std::array<uint8_t, kSignsTile / 8> bits{};
  for (size_t begin = 0; begin < values.size(); begin += kSignsTile) {
    const auto tile = values.subspan(begin, std::min(kSignsTile, values.size() - begin));
    signs.write(first_byte + begin / 8, std::span(bits).first((tile.size() + 7) / 8));
    for (size_t i = 0; i < tile.size(); ++i) {
      const uint32_t minus = (bits[i / 8] >> (i % 8) & 1u) << 31;
      tile[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(tile[i] * factor) ^ minus);
    }
  }
}

float scale_of(size_t width) { return static_cast<float>(1 / std::sqrt(static_cast<double>(width))); }

}  // namespace

size_t rotation_width(size_t count) {
  COT_ASSERT(count > 0);
  return std::bit_floor(count);
}

// The matrix is symmetric and, so scaled, its own inverse.
void rotate_whole(const ByteSource& signs, std::span<float> values) {
  const size_t width = rotation_width(values.size());
  multiply_by_signs(signs, 0, scale_of(width), values.first(width));
  transform(values.data(), width);
  if (width == values.size()) return;
  const std::span<float> last = values.last(width);
  multiply_by_signs(signs, (width + 7) / 8, scale_of(width), last);
  transform(last.data(), width);
}

void rotate_whole_back(const ByteSource& signs, std::span<float> values) {
  const size_t width = rotation_width(values.size());
  if (width < values.size()) {
    const std::span<float> last = values.last(width);
    transform(last.data(), width);
    multiply_by_signs(signs, (width + 7) / 8, scale_of(width), last);
  }
  transform(values.data(), width);
  multiply_by_signs(signs, 0, scale_of(width), values.first(width));
}

Result<KeyStreamSource> update_rotation_signs(const Digest& model) {
  const Secret<32> key = hkdf<32>({}, model.view(), DomainFields("coterie/v1/update-rotation").view());
  COT_ASSIGN(KeyStream stream, KeyStream::make(CipherSuite::aes256_ctr, key));
  return KeyStreamSource(std::move(stream));
}

}  // namespace coterie
