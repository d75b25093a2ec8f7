// The plan's clip, enforced on arrival: what a device says it has clipped is measured before it is counted.
#pragma once

#include <span>

#include "base/result.h"
#include "proto/messages/plan.h"

namespace coterie {

// malformed if the plan clips and the update's L2 norm is over norm_max_of(rules.clip_l2), or the update is not finite.
// Of one that tells scalars the values before them are measured, and none of them is below 0 (of any norm).
// Of one with a clip bit the values before it are measured, and the bit is one of the plan's two.
// Of a quantized update `values` are its levels, and its norm may be what rounding leaves of the clip's; of eden they
// are decoded, and it may be kEdenNormMax times the clip's.
Status check_norm(std::span<const float> values, const UpdateRules& rules);

}  // namespace coterie
