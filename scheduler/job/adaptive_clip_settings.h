// The job key privacy.adaptive_clip (adaptive_clip_rules.h).
#pragma once

namespace coterie {

struct AdaptiveClipSettings {
  double quantile = 0.5;       // in (0, 1): share not to be clipped
  double learning_rate = 0.2;  // in (0, 1]
  double bits_sigma = 0;       // of the count, in updates; 0: by a rule
  friend bool operator==(const AdaptiveClipSettings&, const AdaptiveClipSettings&) = default;
};

}  // namespace coterie
