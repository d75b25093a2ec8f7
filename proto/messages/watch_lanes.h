// What the devices of a watched job (watch_settings.h) tell of their trainings: lanes of 0 and 1, the last scalars of
// an update (update_scalars.h), of the kind watch_hit with the bound 1. So a device adds at most its weight to each.
//
//   lane 0             1 if it has looked at tensors of a step
//   then, by check     a check of layers: kWatchGroups lanes, 1 where it fired on a tensor of that group of layers;
//                      one of the training as a whole: one lane
//
// A layer is an op with parameters and what follows it up to the next such op; what is in front of the first is the
// first one's. A model of more than kWatchGroups layers has them in as many groups of neighbours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/messages/model.h"
#include "proto/messages/update_scalars.h"
#include "proto/messages/watch_settings.h"

namespace coterie {

// Those of a device's checks (device_sdk/watch/check.h) that need no settings: a job names no others.
struct JobCheck {
  std::string_view name;
  bool is_of_layers = true;  // it fires on tensors; else on the training as a whole
  bool is_recommended = true;
};
std::span<const JobCheck> job_checks();
const JobCheck* find_job_check(std::string_view name);

inline constexpr uint32_t kWatchGroups = 8;
inline constexpr size_t kLayerNameBytesMax = 64;

// With `recommended` in its place.
WatchSettings named_checks(const WatchSettings& settings);

// Precondition of these: each check is one of job_checks().
size_t watch_lane_count(const WatchSettings& settings);
// Where the lanes of settings.checks[check] begin.
size_t watch_lane(const WatchSettings& settings, size_t check);
std::vector<ScalarRule> watch_scalars(const WatchSettings& settings);
// How many of an update's scalars are lanes of a watch: the last.
size_t watch_lanes_of(std::span<const ScalarRule> scalars);

class LayerGroups {
 public:
  explicit LayerGroups(const ModelGraph& graph);

  // "conv1", or the first and last of several: "conv1..conv4". Printable, at most 2 * kLayerNameBytesMax + 2 bytes.
  const std::vector<std::string>& names() const { return names_; }
  // The group of the op that is called so; 0 where there is none.
  uint32_t of_op(std::string_view name) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::string> ops_;
  std::vector<uint32_t> group_of_;  // of each op
};

}  // namespace coterie
