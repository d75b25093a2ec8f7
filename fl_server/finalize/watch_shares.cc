#include "fl_server/finalize/watch_shares.h"

#include <utility>

#include "base/assert.h"
#include "fl_server/finalize/told_shares.h"
#include "proto/messages/watch_lanes.h"

namespace coterie {

Result<std::optional<WatchOutcome>> watch_outcome_of(const MeanSource& mean, const Plan& plan,
                                                     const ModelGraph& graph) {
  if (!plan.training.watch) return std::optional<WatchOutcome>();
  const WatchSettings& settings = *plan.training.watch;
  const size_t count = watch_lane_count(settings);
  COT_ASSERT(watch_lanes_of(plan.update.scalars) == count);
  COT_ASSIGN(const std::vector<double> shares, told_shares(mean, plan, plan.update.scalars.size() - count, count));
  WatchOutcome outcome{.looked = shares[0], .hits = {}};
  const LayerGroups groups(graph);
  for (size_t check = 0; check < settings.checks.size(); ++check) {
    const std::string& name = settings.checks[check];
    const bool is_of_layers = find_job_check(name)->is_of_layers;
    const size_t first = watch_lane(settings, check), lanes = is_of_layers ? groups.names().size() : 1;
    for (size_t i = 0; i < lanes; ++i) {
      if (shares[first + i] == 0) continue;
      outcome.hits.push_back({name, is_of_layers ? groups.names()[i] : std::string(), shares[first + i]});
    }
  }
  return std::optional(std::move(outcome));
}

}  // namespace coterie
