// WatchOutcome: what the devices of a round found in their trainings, as their sum says it
// (proto/messages/watch_lanes.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coterie {

struct WatchShare {
  std::string check;
  std::string layer;  // or a group of neighbours; empty: the check is of the training as a whole
  double share = 0;   // of the round's weight: of the devices on which it fired; in (0, 1], but for noise
  friend bool operator==(const WatchShare&, const WatchShare&) = default;
};

struct WatchOutcome {
  double looked = 0;             // the share whose devices have looked at tensors
  std::vector<WatchShare> hits;  // by check, then by layer; none is 0
  double error = 0;              // of each share, by noise (noisy_hits.h); 0: none
  friend bool operator==(const WatchOutcome&, const WatchOutcome&) = default;
};

// Each check that a job may name, and its largest share that is a hit; 0: none, or not asked.
std::vector<std::pair<std::string_view, double>> worst_by_check(const WatchOutcome& outcome);

}  // namespace coterie
