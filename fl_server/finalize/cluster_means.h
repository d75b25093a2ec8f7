// ClusterMeans: the means of a job with clusters (proto/messages/model_clusters.h). An update has a slot for each
// cluster, zeros in all but one, and behind them a scalar for each, 1 in that one. Both are in one exact sum, of which
// cluster c gets its own mean:
//
//   sum of n_i delta_i of those that chose c  =  mean of the slot / mean of the scalar
//   ---------------------------------------
//   sum of n_i of those that chose c
//
// A cluster that nobody has chosen has a mean of 0, and does not move: neither do its vectors of the strategy. That is
// one whose weight is below half a device's least: what is less is no device's, and lies alone make it.
#pragma once

#include <memory>
#include <vector>

#include "fl_server/finalize/mean_source.h"
#include "proto/messages/plan.h"

namespace coterie {

// The share of the round's weight that each cluster has; 0: nobody has chosen it. None of a job without clusters.
Result<std::vector<double>> cluster_shares(const MeanSource& mean, const Plan& plan);

class ClusterMeans final : public MeanSource {
 public:
  // `source` was not read from yet. Precondition: the plan has clusters.
  static Result<std::unique_ptr<MeanSource>> of(std::unique_ptr<MeanSource> source, const Plan& plan);

  const RoundTotals& totals() const override { return source_->totals(); }
  Status read(std::span<float> mean) override;
  Result<std::vector<double>> peek(uint64_t first, uint64_t count) const override;
  Status verify() override { return source_->verify(); }

 private:
  ClusterMeans(std::unique_ptr<MeanSource> source, std::vector<double> shares, uint64_t slot)
      : source_(std::move(source)), shares_(std::move(shares)), slot_(slot) {}
  double own_mean(uint64_t place, double mean) const;

  std::unique_ptr<MeanSource> source_;
  std::vector<double> shares_;
  uint64_t slot_;  // values of one
  uint64_t at_ = 0;
};

}  // namespace coterie
