#include "scheduler/job/watch_outcome.h"

#include <algorithm>

#include "proto/messages/watch_lanes.h"
#include "scheduler/job/noisy_hits.h"

namespace coterie {

std::vector<std::pair<std::string_view, double>> worst_by_check(const WatchOutcome& outcome) {
  std::vector<std::pair<std::string_view, double>> worst;
  for (const JobCheck& check : job_checks()) {
    double share = 0;
    for (const WatchShare& hit : outcome.hits) {
      if (hit.check == check.name && stands_out(outcome, hit.share)) share = std::max(share, hit.share);
    }
    worst.emplace_back(check.name, share);
  }
  return worst;
}

}  // namespace coterie
