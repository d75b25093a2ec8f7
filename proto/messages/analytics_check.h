// Whether a device's lanes are some that examples can give: what a server asks where it sees single updates. A device
// may lie about its examples, and then says what other examples would say.
#pragma once

#include <span>

#include "base/result.h"
#include "proto/messages/analytics.h"

namespace coterie {

// malformed, with what does not go together, if no examples have these lanes. Counts are whole numbers of values_max
// examples at most. With an evaluation every sum agrees with every other: confusion, moments, groups, scores, the
// device's own accuracy, the difference of two models. The rules are valid; `lanes` has lane_count(rules).
Status check_lanes(const AnalyticsRules& rules, std::span<const float> lanes);

}  // namespace coterie
