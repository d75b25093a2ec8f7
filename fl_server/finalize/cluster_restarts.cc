#include "fl_server/finalize/cluster_restarts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/random.h"
#include "fl_server/finalize/value_bytes.h"
#include "fl_server/finalize/value_overlaps.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/perturbed_values.h"

namespace coterie {
namespace {

uint64_t seed_of(const Digest& model, uint32_t cluster) {
  uint64_t seed = 0;
  static_assert(sizeof(model.bytes) >= sizeof seed);
  for (size_t i = 0; i < sizeof seed; ++i) seed = seed << 8 | model.bytes[i];
  return Prng::derived(seed, cluster).next();
}

}  // namespace

Result<ClusterRestarts> ClusterRestarts::of(const std::vector<double>& shares, uint64_t updates,
                                            std::vector<uint32_t> idle, const FrameStream& model,
                                            const ModelGraph& graph, std::span<const ValueRange> trained,
                                            const Digest& digest) {
  ClusterRestarts restarts;
  if (shares.empty()) return restarts;
  idle.resize(shares.size());
  const auto largest = std::ranges::max_element(shares);
  if (*largest == 0) {  // lies alone make such a round
    restarts.idle_ = std::move(idle);
    return restarts;
  }
  for (uint32_t cluster = 0; cluster < shares.size(); ++cluster) {
    const uint64_t so_far = shares[cluster] > 0 ? 0 : idle[cluster] + updates;
    const bool is_left = so_far >= kClusterIdleUpdates;
    if (is_left) restarts.restarted_.push_back(cluster);
    restarts.idle_.push_back(is_left ? 0 : static_cast<uint32_t>(so_far));
  }
  if (restarts.restarted_.empty()) return restarts;
  COT_ASSIGN(const ModelGraph one, graph_of_cluster(graph));
  const uint64_t bytes = copy_bytes(graph);
  std::vector<float> source(bytes / sizeof(float));
  COT_TRY(model.peek(static_cast<uint64_t>(largest - shares.begin()) * bytes, as_writable(source)));
  for (const uint32_t cluster : restarts.restarted_) {
    std::vector<float> near = source;
    perturb(near, parameter_values(one), kClusterRestartSpread, seed_of(digest, cluster));
    std::vector<float>& values = restarts.models_.emplace_back(source);
    const uint64_t slot = cluster * source.size();
    for_each_overlap(trained, slot, source.size(), [&](uint64_t first, uint64_t count) {
      std::ranges::copy(std::span(near).subspan(first - slot, count),
                        values.begin() + static_cast<std::ptrdiff_t>(first - slot));
    });
  }
  return restarts;
}

void ClusterRestarts::put(uint64_t first, std::span<float> values) const {
  for (size_t i = 0; i < models_.size(); ++i) {
    const std::vector<float>& model = models_[i];
    const uint64_t slot = restarted_[i] * model.size();
    const uint64_t begin = std::max(first, slot);
    const uint64_t end = std::min<uint64_t>(first + values.size(), slot + model.size());
    for (uint64_t at = begin; at < end; ++at) values[at - first] = model[at - slot];
  }
}

}  // namespace coterie
