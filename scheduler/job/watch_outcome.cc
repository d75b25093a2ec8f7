#include "scheduler/job/watch_outcome.h"

#include <algorithm>

#include "proto/messages/watch_lanes.h"

namespace coterie {

std::vector<std::pair<std::string_view, double>> worst_by_check(const WatchOutcome& outcome) {
  std::vector<std::pair<std::string_view, double>> worst;
  for (const JobCheck& check : job_checks()) {
    double share = 0;
    for (const WatchShare& hit : outcome.hits) share = hit.check == check.name ? std::max(share, hit.share) : share;
    worst.emplace_back(check.name, share);
  }
  return worst;
}

}  // namespace coterie
