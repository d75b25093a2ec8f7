#include "fl_server/finalize/cluster_means.h"

#include <utility>

#include "base/assert.h"
#include "proto/messages/model_clusters.h"

namespace coterie {
namespace {

constexpr double kWeightLeast = 0.5;

}  // namespace

Result<std::vector<double>> cluster_shares(const MeanSource& mean, const Plan& plan) {
  const uint32_t count = cluster_count(plan.training);
  if (count == 1) return std::vector<double>();
  COT_ASSERT(plan.update.scalars.size() == count);
  COT_ASSIGN(std::vector<double> shares, mean.peek(plan.update.vector_value_count(), count));
  for (double& share : shares) {
    share /= static_cast<double>(plan.update.fixed_point.value_abs_max);
    if (!(share * static_cast<double>(mean.totals().weight) >= kWeightLeast)) share = 0;
  }
  return shares;
}

Result<std::unique_ptr<MeanSource>> ClusterMeans::of(std::unique_ptr<MeanSource> source, const Plan& plan) {
  COT_ASSIGN(std::vector<double> shares, cluster_shares(*source, plan));
  COT_ASSERT(!shares.empty() && plan.update.vector_value_count() % shares.size() == 0);
  const uint64_t slot = plan.update.vector_value_count() / shares.size();
  return std::unique_ptr<MeanSource>(new ClusterMeans(std::move(source), std::move(shares), slot));
}

// What lies behind the slots is nobody's mean.
double ClusterMeans::own_mean(uint64_t place, double mean) const {
  const uint64_t cluster = place / slot_;
  if (cluster >= shares_.size()) return mean;
  return shares_[cluster] == 0 ? 0 : mean / shares_[cluster];
}

Status ClusterMeans::read(std::span<float> mean) {
  COT_TRY(source_->read(mean));
  for (float& value : mean) value = static_cast<float>(own_mean(at_++, static_cast<double>(value)));
  return {};
}

Result<std::vector<double>> ClusterMeans::peek(uint64_t first, uint64_t count) const {
  COT_ASSIGN(std::vector<double> means, source_->peek(first, count));
  for (double& mean : means) mean = own_mean(first++, mean);
  return means;
}

}  // namespace coterie
