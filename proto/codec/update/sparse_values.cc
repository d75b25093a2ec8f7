#include "proto/codec/update/sparse_values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "base/assert.h"
#include "proto/codec/update/bit_packing.h"
#include "proto/messages/top_k.h"

namespace coterie {
namespace {

constexpr uint64_t kValueCountMax = 1ull << 32;  // as of a plan: an index has 32 bits
static_assert(kTopKSparsityMax <= 1 << 16, "the low bits of an index are read with those of a level");

struct Parts {
  uint32_t low_bits = 0;  // of an index
  uint64_t high_bits = 0;
  uint64_t values_bytes = 0, low_bytes = 0, high_bytes = 0;
};

Parts parts_of(const SparseShape& shape) {
  Parts parts;
  parts.low_bits = static_cast<uint32_t>(std::bit_width(shape.value_count / shape.sent_count)) - 1;
  parts.high_bits = shape.sent_count + ((shape.value_count - 1) >> parts.low_bits);
  parts.values_bytes = packed_bytes(shape.sent_count, shape.bits).value();  // below 2^37, as counts are limited
  parts.low_bytes = (shape.sent_count * parts.low_bits + 7) / 8;
  parts.high_bytes = (parts.high_bits + 7) / 8;
  return parts;
}

// Numbers of at most 16 bits, read in any order.
class PackedNumbers {
 public:
  PackedNumbers(ByteView packed, uint32_t bits) : packed_(packed), bits_(bits) {}

  uint32_t at(uint64_t i) const {
    const uint64_t first = i * bits_, end = (first + bits_ + 7) / 8;
    uint32_t window = 0;
    for (uint64_t byte = end; byte > first / 8; --byte) window = window << 8 | packed_[byte - 1];
    return window >> (first % 8) & ((1u << bits_) - 1);
  }
  bool ends_with_zeros(uint64_t count) const {
    const uint64_t used = count * bits_ % 8;
    return used == 0 || packed_.back() >> used == 0;
  }

 private:
  ByteView packed_;
  uint32_t bits_;
};

float float_at(ByteView values, uint64_t i) {
  float value = 0;
  std::memcpy(&value, values.data() + i * sizeof value, sizeof value);
  return value;
}

Error bad(const std::string& what) { return Error(ErrorCode::malformed, "update: " + what); }

}  // namespace

std::optional<uint64_t> sparse_bytes(const SparseShape& shape) {
  const bool is_valid = shape.sent_count > 0 && shape.sent_count <= shape.value_count &&
                        shape.value_count <= kValueCountMax &&
                        shape.value_count / shape.sent_count < kTopKSparsityMax && is_top_k_bits(shape.bits);
  if (!is_valid) return std::nullopt;
  const Parts parts = parts_of(shape);
  return parts.values_bytes + parts.low_bytes + parts.high_bytes;
}

int32_t level_reach(uint32_t bits) { return (1 << (bits - 1)) - 1; }

void pack_sparse(const SparseShape& shape, std::span<const uint32_t> indices, std::span<const float> values,
                 std::span<const uint16_t> levels, std::span<uint8_t> packed) {
  const Parts parts = parts_of(shape);
  COT_ASSERT(indices.size() == shape.sent_count && packed.size() == sparse_bytes(shape));
  if (shape.bits == kTopKFloatBits) {
    for (size_t i = 0; i < indices.size(); ++i) {
      std::memcpy(packed.data() + i * sizeof(float), &values[indices[i]], sizeof(float));
    }
  } else {
    pack_bits(levels, shape.bits, packed.first(parts.values_bytes));
  }
  if (parts.low_bits > 0) {
    std::vector<uint16_t> low(indices.size());
    const uint32_t mask = (1u << parts.low_bits) - 1;
    std::ranges::transform(indices, low.begin(),
                           [mask](uint32_t index) { return static_cast<uint16_t>(index & mask); });
    pack_bits(low, parts.low_bits, packed.subspan(parts.values_bytes, parts.low_bytes));
  }
  const std::span<uint8_t> high = packed.last(parts.high_bytes);
  std::ranges::fill(high, uint8_t{0});
  for (size_t i = 0; i < indices.size(); ++i) {
    const uint64_t place = (indices[i] >> parts.low_bits) + i;
    high[place / 8] |= static_cast<uint8_t>(1u << (place % 8));
  }
}

Status unpack_sparse(ByteView packed, const SparseShape& shape, float scale, std::span<float> values) {
  const std::optional<uint64_t> bytes = sparse_bytes(shape);
  COT_ASSERT(bytes && values.size() == shape.value_count);
  if (packed.size() != *bytes) {
    return bad(std::to_string(shape.sent_count) + " values of " + std::to_string(shape.value_count) + " need " +
               std::to_string(*bytes) + " bytes, the payload has " + std::to_string(packed.size()));
  }
  const Parts parts = parts_of(shape);
  const bool are_floats = shape.bits == kTopKFloatBits;
  const ByteView sent = packed.first(parts.values_bytes), high = packed.last(parts.high_bytes);
  const PackedNumbers levels(sent, are_floats ? 1 : shape.bits);
  const PackedNumbers low(packed.subspan(parts.values_bytes, parts.low_bytes), parts.low_bits);
  if (!are_floats && !levels.ends_with_zeros(shape.sent_count)) return bad("has bits behind the last value");
  if (!low.ends_with_zeros(shape.sent_count)) return bad("has bits behind the last index");
  const uint32_t level_end = are_floats ? 0 : (1u << shape.bits) - 1;
  std::ranges::fill(values, 0.0f);
  uint64_t found = 0, next = 0;  // indices so far, and the least that may come
  for (size_t byte = 0; byte < high.size(); ++byte) {
    for (uint32_t rest = high[byte]; rest != 0; rest &= rest - 1) {
      const uint64_t place = 8 * uint64_t{byte} + static_cast<uint64_t>(std::countr_zero(rest));
      if (found == shape.sent_count || place >= parts.high_bits) return bad("has more indices than the plan says");
      const uint64_t index = (place - found) << parts.low_bits | (parts.low_bits > 0 ? low.at(found) : 0);
      if (index >= shape.value_count) return bad("has the index of no value, " + std::to_string(index));
      if (index < next) return bad("has indices that do not rise, at " + std::to_string(index));
      if (are_floats) {
        values[index] = float_at(sent, found);
      } else {
        const uint32_t level = levels.at(found);
        if (level == level_end) return bad("has a level that is none, " + std::to_string(level));
        values[index] = scale * static_cast<float>(static_cast<int32_t>(level) - level_reach(shape.bits));
      }
      next = index + 1;
      ++found;
    }
  }
  if (found == shape.sent_count) return {};
  return bad("has " + std::to_string(found) + " indices, the plan says " + std::to_string(shape.sent_count));
}

}  // namespace coterie
