// The plan's clip, enforced on arrival: what a device says it has clipped is measured before it is counted.
#pragma once

#include <span>

#include "base/result.h"
#include "proto/messages/plan.h"

namespace coterie {

// malformed if the plan clips and the update's L2 norm is over norm_max_of(rules.clip_l2), or the update is not finite.
// What `values` are depends on the plan:
//   scalars beside   they stand behind the values that are measured; none may be below 0, whether the plan clips or
//                    not; lanes of a watch with noise are one of the plan's two values (watch_noise.h)
//   a clip bit       it stands behind the values that are measured, and is one of the plan's two
//   quantized        levels; their norm may be what rounding leaves of the clip (quantized_norm_max)
//   eden             decoded values; their norm may be kEdenNormMax times the clip
Status check_norm(std::span<const float> values, const UpdateRules& rules);

}  // namespace coterie
