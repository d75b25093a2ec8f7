// TopKRules: an update that has its largest values alone (UpdateEncoding::top_k); how they lie in its payload is in
// proto/codec/update/sparse_values.h.
#pragma once

#include <cstdint>

namespace coterie {

// A value is float32, or a level of few bits.
inline constexpr uint32_t kTopKFloatBits = 32;
inline constexpr uint32_t kTopKBitsMin = 2, kTopKBitsMax = 16;
// Values of an update for each that is sent: below this.
inline constexpr uint64_t kTopKSparsityMax = 1 << 16;

struct TopKRules {
  uint64_t sent_count = 0;          // of value_count, the largest by magnitude; 0: all are sent
  uint32_t bits = 0;                // of a value
  bool has_error_feedback = false;  // what is not sent stays on the device, which adds it to its next update
  friend bool operator==(const TopKRules&, const TopKRules&) = default;
};

inline bool is_top_k_bits(uint32_t bits) {
  return bits == kTopKFloatBits || (bits >= kTopKBitsMin && bits <= kTopKBitsMax);
}

}  // namespace coterie
