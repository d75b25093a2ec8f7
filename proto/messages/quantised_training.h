// QuantisedTraining: forward computes with the integers that the model is to be quantised to (ADR 182).
#pragma once

#include <cstdint>

namespace coterie {

inline constexpr uint32_t kWeightBitsMin = 2, kWeightBitsMax = 8;  // 3 and 255 steps

// weights  those that `coterie model quantise` stores as int8
// full     what `coterie model quantise --full` makes integers of: activations, too
enum class QuantisedParts : uint8_t { weights = 1, full };

struct QuantisedTraining {
  QuantisedParts parts = QuantisedParts::full;
  uint32_t weight_bits = kWeightBitsMax;
  friend bool operator==(const QuantisedTraining&, const QuantisedTraining&) = default;
};

}  // namespace coterie
