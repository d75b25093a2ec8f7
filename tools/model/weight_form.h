// How a weight of a model is rounded.
#pragma once

#include <cstdint>

#include "tools/model/int8_range.h"

namespace coterie {

inline constexpr uint32_t kFloatBits = 32;  // a weight that is not rounded

struct WeightForm {
  uint32_t bits = 8;  // in [1, 16], or kFloatBits
  RangeRule rule = RangeRule::min_max;
  bool is_bias_corrected = false;  // the bias of its layer is without what rounding shifts its outputs by on average
  bool is_compensated = false;     // each integer makes up for what others have lost (compensated_rounding.h)
  friend bool operator==(const WeightForm&, const WeightForm&) = default;
};

}  // namespace coterie
