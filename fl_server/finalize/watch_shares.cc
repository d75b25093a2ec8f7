#include "fl_server/finalize/watch_shares.h"

#include <cmath>
#include <utility>

#include "base/assert.h"
#include "fl_server/finalize/told_shares.h"
#include "proto/messages/watch_lanes.h"
#include "proto/messages/watch_noise.h"

namespace coterie {
namespace {

// The shares of all lanes that the model has layers for. shares[0] is of those who have looked.
WatchOutcome outcome_of(const WatchSettings& settings, std::span<const double> shares, const ModelGraph& graph) {
  WatchOutcome outcome{.looked = shares[0], .hits = {}};
  const LayerGroups groups(graph);
  for (size_t check = 0; check < settings.checks.size(); ++check) {
    const std::string& name = settings.checks[check];
    const bool is_of_layers = find_job_check(name)->is_of_layers;
    const size_t first = watch_lane(settings, check), lanes = is_of_layers ? groups.names().size() : 1;
    for (size_t i = 0; i < lanes; ++i) {
      outcome.hits.push_back({name, is_of_layers ? groups.names()[i] : std::string(), shares[first + i]});
    }
  }
  return outcome;
}

}  // namespace

Result<std::optional<WatchOutcome>> watch_outcome_of(const MeanSource& mean, const Plan& plan,
                                                     const ModelGraph& graph) {
  if (!plan.training.watch || has_noisy_watch(plan.update)) return std::optional<WatchOutcome>();
  const WatchSettings& settings = *plan.training.watch;
  const size_t count = watch_lane_count(settings);
  COT_ASSERT(watch_lanes_of(plan.update.scalars) == count);
  COT_ASSIGN(const std::vector<double> shares, told_shares(mean, plan, plan.update.scalars.size() - count, count));
  WatchOutcome outcome = outcome_of(settings, shares, graph);
  std::erase_if(outcome.hits, [](const WatchShare& hit) { return hit.share == 0; });
  return std::optional(std::move(outcome));
}

WatchOutcome noisy_watch_outcome(const NoisySum& sum, const Plan& plan, const ModelGraph& graph) {
  COT_ASSERT(sum.updates > 0 && sum.means.size() == watch_lane_count(*plan.training.watch));
  // What a device's lane is on the grid of the sum: half a step of a low lane would be a bias.
  const auto bits = static_cast<int>(sum.fraction_bits);
  double height = static_cast<double>(watch_height(plan.update));
  if (plan.privacy.level == SecurityLevel::none) height = std::ldexp(std::nearbyint(std::ldexp(height, bits)), -bits);
  const auto updates = static_cast<double>(sum.updates);
  std::vector<double> shares;
  for (const float mean : sum.means) {
    const double told = static_cast<double>(mean) * static_cast<double>(sum.divisor);
    shares.push_back(told / (2 * height * updates) + 0.5);
  }
  WatchOutcome outcome = outcome_of(*plan.training.watch, shares, graph);
  outcome.error = std::ldexp(sum.sigma, -bits) / (2 * height * updates);
  return outcome;
}

}  // namespace coterie
