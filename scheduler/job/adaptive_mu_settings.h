// The job key training.adaptive_mu (adaptive_mu_rules.h).
#pragma once

#include <cstdint>

namespace coterie {

struct AdaptiveMuSettings {
  float step = 0.1f;   // by how much mu moves
  uint32_t falls = 5;  // rounds in a row with a lower loss, until mu is lowered
  float max = 1;       // mu stays in [0, max]
  friend bool operator==(const AdaptiveMuSettings&, const AdaptiveMuSettings&) = default;
};

inline constexpr uint32_t kMuFallsMax = 1000;
inline constexpr float kMuStepMin = 1e-6f;
inline constexpr float kMuMax = 1e6f;  // as of training.proximal_mu

// What a version of the model carries to the rounds behind it.
struct AdaptiveMu {
  double mu = 0;       // of devices that train from this version
  uint64_t falls = 0;  // rounds in a row, up to this version, with a lower loss since mu was last moved
  friend bool operator==(const AdaptiveMu&, const AdaptiveMu&) = default;
};

}  // namespace coterie
