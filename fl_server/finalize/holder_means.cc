#include "fl_server/finalize/holder_means.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "fl_server/finalize/told_shares.h"
#include "proto/messages/model_clusters.h"

namespace coterie {

Result<std::vector<HeldValues>> held_values(const MeanSource& mean, const Plan& plan,
                                            const std::vector<WidthBlock>& blocks) {
  std::vector<HeldValues> held;
  const uint32_t clusters = cluster_count(plan.training);
  if (clusters == 1 && plan.training.widths.empty()) return held;
  COT_ASSIGN(std::vector<double> shares, told_shares(mean, plan, 0, plan.update.scalars.size()));
  if (clusters > 1) {
    COT_ASSERT(shares.size() == clusters && plan.update.vector_value_count() % clusters == 0);
    const uint64_t slot = plan.update.vector_value_count() / clusters;
    for (uint64_t cluster = 0; cluster < clusters; ++cluster) {
      held.push_back({{cluster * slot, slot}, shares[cluster]});
    }
    return held;
  }
  // What a width has, each larger one has: who holds the values of a wide one holds those of a narrow one, too.
  for (size_t i = 1; i < shares.size(); ++i) shares[i] = std::max(shares[i], shares[i - 1]);
  shares.push_back(1);
  for (const WidthBlock& block : blocks) {
    COT_ASSERT(block.narrowest < shares.size());
    held.push_back({block.values, shares[block.narrowest]});
  }
  return held;
}

template <typename Value>
void HolderMeans::divide(uint64_t first, std::span<Value> means) const {
  const uint64_t end = first + means.size();
  // The first range that ends behind `first`.
  auto range = std::ranges::partition_point(
      held_, [first](const HeldValues& held) { return held.values.first + held.values.count <= first; });
  for (; range != held_.end() && range->values.first < end; ++range) {
    const uint64_t begin = std::max(first, range->values.first);
    const uint64_t stop = std::min(end, range->values.first + range->values.count);
    for (uint64_t i = begin; i < stop; ++i) {
      Value& mean = means[i - first];
      const double own = range->share == 0 ? 0 : static_cast<double>(mean) / range->share;
      mean = static_cast<Value>(std::clamp(own, -value_abs_max_, value_abs_max_));
    }
  }
}

Status HolderMeans::read(std::span<float> mean) {
  COT_TRY(source_->read(mean));
  divide(at_, mean);
  at_ += mean.size();
  return {};
}

Result<std::vector<double>> HolderMeans::peek(uint64_t first, uint64_t count) const {
  COT_ASSIGN(std::vector<double> means, source_->peek(first, count));
  divide(first, std::span(means));
  return means;
}

}  // namespace coterie
