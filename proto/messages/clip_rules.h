// Adaptive clipping: device_sdk/agent/encode_update.h.
#pragma once

namespace coterie {

inline constexpr double kClipNormMin = 1e-12, kClipNormMax = 1e12;

struct ClipRules {
  double clip_norm = 0;  // of the round; 0: none
  float bit = 0;
  friend bool operator==(const ClipRules&, const ClipRules&) = default;
};

}  // namespace coterie
