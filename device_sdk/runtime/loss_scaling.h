// Loss scaling: the gradient is computed of the loss times a scale, and divided by it before it is used, so that small
// numbers survive on the way; the scale follows what the gradient bears (Micikevicius et al., "Mixed Precision
// Training", 2018, section 3.2; PyTorch's GradScaler with growth factor 2 and backoff factor 1/2).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace coterie {

inline constexpr float kLossScaleMax = 0x1p24f;

struct LossScaling {
  float start = 0;            // a power of two, so that scaling rounds nothing; 0: no scaling
  uint32_t growth_steps = 0;  // after so many finite gradients in a row the scale is doubled; 0: it never changes

  bool is_on() const { return start > 0; }
  friend bool operator==(const LossScaling&, const LossScaling&) = default;
};

// "dynamic" (from 65536, doubled after 2000 steps), or the scale. invalid_argument says what is wrong.
Result<LossScaling> parse_loss_scaling(std::string_view text);
// invalid_argument.
Status check_loss_scaling(const LossScaling& scaling);

// Part of a checkpoint.
struct LossScaleState {
  float scale = 0;          // 0: no scaling
  uint32_t good_steps = 0;  // in a row, since the scale changed
  friend bool operator==(const LossScaleState&, const LossScaleState&) = default;
};

// After a step whose gradient was finite, or was not.
void observe_gradient(const LossScaling& scaling, bool is_finite, LossScaleState& state);

bool all_finite(std::span<const float> values);

}  // namespace coterie
