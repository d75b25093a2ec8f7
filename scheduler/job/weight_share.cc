#include "scheduler/job/weight_share.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

double default_weight_share_max(const HorizontalSettings& settings) {
  const bool sees_updates = settings.privacy.level == SecurityLevel::none;
  const bool is_capped = sees_updates && settings.update.weight_max > 1 &&
                         settings.rounds.goal_count >= kWeightShareGoalMin &&
                         !settings.rounds.is_buffered();  // buffered_rules.h says why
  return is_capped ? kWeightShareDefault : 1;
}

uint64_t weight_max_for_share(double share, uint32_t goal_count, uint64_t median) {
  COT_ASSERT(share > 0 && share < 1 && goal_count >= 1 && median >= 1);
  const double others = static_cast<double>(goal_count - 1) * static_cast<double>(median);
  const auto fits = [&](double weight) { return weight <= share * (weight + others); };
  // Beyond 2^53 a double has no whole numbers of its own, and no weight is that large.
  // weight <= share (weight + others), solved for the weight; `others` are goal_count - 1 devices of the median.
  const double largest = std::min(std::floor(share / (1 - share) * others), 0x1p53);
  double weight = std::max(1.0, largest);
  if (fits(weight + 1)) ++weight;  // the quotient was rounded down
  while (weight > 1 && !fits(weight)) --weight;
  return static_cast<uint64_t>(weight);
}

uint64_t lower_median(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace coterie
