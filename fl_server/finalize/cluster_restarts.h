// ClusterRestarts: a cluster (proto/messages/model_clusters.h) that nobody chooses begins anew from the one that most
// chose. Devices that want opposite things of one model pull it to and fro, and so some of them lose less with another
// one near to it: they choose that, and from then on both move apart.
//
// The other is the model that this round's devices had of the largest cluster, perturbed a little
// (proto/messages/perturbed_values.h). It is a round behind, which sets it apart, too: the model that this round makes
// leans to those who came. A draw's seed is of that model and of the cluster, so that a retried round, a simulation and
// every level have the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fl_server/finalize/frame_stream.h"
#include "proto/messages/model.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

// A cluster that one in twelve devices would choose is passed over by so many in a row once in 77 times.
inline constexpr uint32_t kClusterIdleUpdates = 50;
inline constexpr double kClusterRestartSpread = 0.1;

class ClusterRestarts {
 public:
  // `shares`: what each cluster has of the round's weight (holder_means.h); none: the job has no clusters. `idle`: how
  // many updates had counted before since one chose it; empty: none had counted. `model`: whose values the round moves,
  // of this digest; none of them has been read. `trained`: places of those that training moves; others are not
  // perturbed.
  static Result<ClusterRestarts> of(const std::vector<double>& shares, uint64_t updates, std::vector<uint32_t> idle,
                                    const FrameStream& model, const ModelGraph& graph,
                                    std::span<const ValueRange> trained, const Digest& digest);

  // The same of the model after the round; empty: the job has no clusters.
  const std::vector<uint32_t>& idle() const { return idle_; }
  // From 0.
  const std::vector<uint32_t>& restarted() const { return restarted_; }
  // Replaces those of their values that lie among `values`, which are the model's from `first` on.
  void put(uint64_t first, std::span<float> values) const;

 private:
  std::vector<uint32_t> idle_;
  std::vector<uint32_t> restarted_;
  std::vector<std::vector<float>> models_;  // of each of them
};

}  // namespace coterie
