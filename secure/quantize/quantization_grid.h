// The grid that all devices of a round round their values to (UpdateEncoding::quantized): where it ends, and what its
// levels mean. Pure arithmetic on a plan's rules.
//
//   level = stochastic round of (value * weight / weight_max + H) / (2 H) * L,   L = 2^bits - 1
//   mean  = H / L * (2 * sum of levels - n * L) * weight_max / sum of weights
//
// The weight enters before the rounding, so that it costs no bit of a lane: a light device takes a narrower part of the
// grid, and its rounding weighs no more than another's. What is lost is precision where weights are far below
// weight_max: the error of the mean is as if all had been rounded with weight_max.
//
// The half-width H, without rotation: the bound of a value, min(clip_l2, value_abs_max). Rotated (shared_rotation.h),
// values of an update of norm C are spread as if each were normal with variance C^2 / N, N the rotation's width:
//
//   H = min(C, (2.5 + bits / 4) * C / sqrt(N))
//
// A rotated value beyond H is cut to it. With fewer bits the grid is narrower, as each step of it costs more than what
// is cut off: of an update at the clip with 4 bits some 5e-5 of its squared norm, with 8 bits 6e-7, where rounding adds
// 4e-2 and 2e-4.
//
// Error of one update, squared norm: (H / L)^2 a value at most (a fair step of 2 H / L has a quarter of its square), so
// that of a mean of n updates of equal weight is at most value_count * (H / L)^2 / n on average, and what was cut off.
#pragma once

#include <cstdint>
#include <span>

namespace coterie {

struct UpdateRules;

// ---- Precondition of all that follows: the rules are of a valid plan with quantized updates.

// H, in the unit of values.
double grid_half_width(const UpdateRules& rules);

// The largest norm that clipping and rounding can leave an update with: the clip, and a step a value.
double quantized_norm_max(const UpdateRules& rules);

// The norm of one update, from its levels.
double quantized_norm(std::span<const float> levels, const UpdateRules& rules);

}  // namespace coterie
