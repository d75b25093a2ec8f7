// WatchHits: what the checks of a watched training found, one entry for each check and tensor, at most so many. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device_sdk/watch/check.h"

namespace coterie {

struct WatchHit {
  std::string_view check, setting;         // check.h; setting: whose threshold was passed, empty where there is none
  std::string_view comparison;             // as Firing
  std::string layer, tensor;               // op, and what of it; both empty for a check of the training as a whole
  uint64_t first_step = 0, last_step = 0;  // of the training, from 0
  uint64_t looks = 0;                      // at which it fired
  double value = 0, threshold = 0;         // at the first
};

class WatchHits {
 public:
  explicit WatchHits(uint32_t hits_max) : hits_max_(hits_max) {}

  // `where`: the tensor; of a check of the training as a whole 0. A new entry, whose names are still to be said, is
  // valid until the next call; else null.
  WatchHit* add(size_t check, uint64_t where, uint64_t step, const Check& of, const Firing& firing);

  // What so many pairs of a check and a tensor may come to, their names being this long at most.
  uint64_t bytes_max(uint64_t pairs, uint64_t names) const {
    return std::min<uint64_t>(pairs, hits_max_) * (sizeof(WatchHit) + names);
  }

  const std::vector<WatchHit>& hits() const { return hits_; }  // in the order of their first step
  uint64_t left_out() const { return left_out_; }              // entries that there was no room for

 private:
  uint32_t hits_max_;
  std::vector<WatchHit> hits_;
  std::map<std::pair<size_t, uint64_t>, size_t> index_;  // of those that were left out, too: each is counted once
  uint64_t left_out_ = 0;
};

}  // namespace coterie
