#include "fl_server/finalize/told_shares.h"

#include <algorithm>

#include "base/assert.h"
#include "proto/messages/told_weight.h"

namespace coterie {

Result<std::vector<double>> told_shares(const MeanSource& mean, const Plan& plan, size_t first, size_t count) {
  COT_ASSERT(first + count <= plan.update.scalars.size());
  COT_ASSIGN(std::vector<double> shares, mean.peek(plan.update.vector_value_count() + first, count));
  const auto weight = static_cast<double>(mean.totals().weight);
  for (double& share : shares) {
    const double told = share / static_cast<double>(plan.update.fixed_point.value_abs_max);
    share = is_of_a_device(told * weight) ? std::min(1.0, told) : 0;
  }
  return shares;
}

}  // namespace coterie
