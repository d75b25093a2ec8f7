#include "fl_server/finalize/watch_shares.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "proto/messages/watch_lanes.h"

namespace coterie {
namespace {

constexpr double kShareMin = 1e-9;  // below that of any device there is; what is less, lies alone make

}  // namespace

Result<std::optional<WatchOutcome>> watch_outcome_of(const MeanSource& mean, const Plan& plan,
                                                     const ModelGraph& graph) {
  if (!plan.training.watch) return std::optional<WatchOutcome>();
  const WatchSettings& settings = *plan.training.watch;
  const size_t count = watch_lane_count(settings);
  COT_ASSERT(watch_lanes_of(plan.update.scalars) == count);
  COT_ASSIGN(const std::vector<double> means, mean.peek(plan.update.value_count - count, count));
  const auto share = [&](size_t lane) {
    return std::clamp(means[lane] / static_cast<double>(plan.update.fixed_point.value_abs_max), 0.0, 1.0);
  };
  WatchOutcome outcome{.looked = share(0), .hits = {}};
  const LayerGroups groups(graph);
  for (size_t check = 0; check < settings.checks.size(); ++check) {
    const std::string& name = settings.checks[check];
    const bool is_of_layers = find_job_check(name)->is_of_layers;
    const size_t first = watch_lane(settings, check), lanes = is_of_layers ? groups.names().size() : 1;
    for (size_t i = 0; i < lanes; ++i) {
      if (share(first + i) < kShareMin) continue;
      outcome.hits.push_back({name, is_of_layers ? groups.names()[i] : std::string(), share(first + i)});
    }
  }
  return std::optional(std::move(outcome));
}

}  // namespace coterie
