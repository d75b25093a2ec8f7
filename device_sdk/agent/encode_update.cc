#include "device_sdk/agent/encode_update.h"

#include <algorithm>
#include <cmath>

#include "proto/codec/codec.h"

namespace coterie {

uint32_t update_weight(uint64_t examples, const UpdateRules& rules) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(examples, 1, rules.fixed_point.weight_max));
}

Status limit_update(std::span<float> delta, const UpdateRules& rules) {
  if (!std::all_of(delta.begin(), delta.end(), [](float value) { return std::isfinite(value); })) {
    return Error(ErrorCode::invalid_argument, "training: the update is not finite; training diverged");
  }
  if (rules.clip_l2 > 0) {
    double squares = 0;
    for (float value : delta) squares += static_cast<double>(value) * static_cast<double>(value);
    const double norm = std::sqrt(squares);
    const double clip = static_cast<double>(rules.clip_l2);
    if (norm > clip) {
      const auto factor = static_cast<float>(clip / norm);
      for (float& value : delta) value *= factor;
    }
  }
  const float bound = rules.fixed_point.value_abs_max;
  for (float& value : delta) value = std::clamp(value, -bound, bound);
  return {};
}

Bytes encode_update(const UpdateHeader& header, std::span<const float> delta) {
  Bytes frame = encode_head(header);
  const auto* values = reinterpret_cast<const uint8_t*>(delta.data());
  frame.insert(frame.end(), values, values + delta.size_bytes());
  return frame;
}

}  // namespace coterie
