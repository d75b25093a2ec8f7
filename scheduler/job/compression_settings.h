// CompressionSettings: an update in fewer bits a value, the job key update.compression (compression_rules.h).
#pragma once

#include <cstdint>

namespace coterie {

struct CompressionSettings {
  uint32_t bits = 0;   // of a value; 0: float32, or the fixed point of a masked sum
  bool rotate = true;  // without: the grid is +-update.value_abs_max
  bool is_on() const { return bits > 0; }
  friend bool operator==(const CompressionSettings&, const CompressionSettings&) = default;
};

}  // namespace coterie
