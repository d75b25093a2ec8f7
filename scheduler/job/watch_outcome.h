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
  double share = 0;   // of the round's weight: of the devices on which it fired; in (0, 1]
  friend bool operator==(const WatchShare&, const WatchShare&) = default;
};

struct WatchOutcome {
  double looked = 0;             // the share whose devices have looked at tensors
  std::vector<WatchShare> hits;  // by check, then by layer; those that fired on nobody are left out
  friend bool operator==(const WatchOutcome&, const WatchOutcome&) = default;
};

// Each check that a job may name, and the largest of its shares; 0: it fired on nobody, or is not asked.
std::vector<std::pair<std::string_view, double>> worst_by_check(const WatchOutcome& outcome);

}  // namespace coterie
