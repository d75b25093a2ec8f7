// What updates tell beside their values (proto/messages/update_scalars.h), as shares of a round's weight: who tells the
// scalar's bound has all of its own weight in it.
#pragma once

#include <cstdint>
#include <vector>

#include "fl_server/finalize/mean_source.h"
#include "proto/messages/plan.h"

namespace coterie {

// Those of the plan's scalars from the one of number `first` on, each in [0, 1]; 0: it is of no device
// (proto/messages/told_weight.h).
Result<std::vector<double>> told_shares(const MeanSource& mean, const Plan& plan, size_t first, size_t count);

}  // namespace coterie
