#include "secure/quantize/quantization_grid.h"

#include <algorithm>
#include <cmath>

#include "proto/messages/plan.h"
#include "proto/messages/quantized_lanes.h"
#include "secure/quantize/shared_rotation.h"

namespace coterie {

double grid_half_width(const UpdateRules& rules) {
  const auto clip = static_cast<double>(rules.clip_l2);
  if (!rules.quantization.rotated) return std::min(clip, static_cast<double>(rules.fixed_point.value_abs_max));
  const double deviations = 2.5 + rules.quantization.bits / 4.0;
  return clip * std::min(1.0, deviations / std::sqrt(static_cast<double>(rotation_width(rules.value_count))));
}

double quantized_norm_max(const UpdateRules& rules) {
  const double step = 2 * grid_half_width(rules) / static_cast<double>(level_max(rules.quantization));
  return static_cast<double>(rules.clip_l2) + step * std::sqrt(static_cast<double>(rules.value_count));
}

double quantized_norm(std::span<const float> levels, const UpdateRules& rules) {
  const auto top = static_cast<double>(level_max(rules.quantization));
  double squares = 0;
  for (const float level : levels) {
    const double twice = 2 * static_cast<double>(level) - top;  // whole, and so are the squares
    squares += twice * twice;
  }
  return std::sqrt(squares) * grid_half_width(rules) / top;
}

}  // namespace coterie
