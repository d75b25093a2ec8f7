// Pace steering: when a device that is not needed now shall come back, so that a population arrives evenly and neither
// floods the server nor misses the next round (Bonawitz et al. 2019, section 2.3).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "proto/messages/checkin.h"

namespace coterie {

struct PaceSettings {
  uint32_t checkins_per_second_max = 500;  // of devices that are told to come back
  Millis window_min{1'000};                // so that a handful of devices do not return as one
  Millis window_max{3'600'000};
};

// `population` devices are spread over one window; nobody is wanted before `not_before` has passed.
inline RetryWindow retry_window(uint64_t population, Millis not_before, const PaceSettings& pace,
                                std::string_view reason) {
  const auto spread_ms = static_cast<int64_t>(population * 1000 / pace.checkins_per_second_max);
  const Millis spread = std::clamp(Millis(spread_ms), pace.window_min, pace.window_max);
  const auto min_ms = static_cast<uint32_t>(std::clamp<int64_t>(not_before.count(), 0, pace.window_max.count()));
  return {min_ms, min_ms + static_cast<uint32_t>(spread.count()), std::string(reason)};
}

// The window for a population of which some wait and some are away (AwayEstimate). A device comes back after half of
// its window on average. So those who are away count twice: otherwise they come at twice checkins_per_second_max.
inline RetryWindow paced_window(uint64_t waiting, uint64_t away, Millis not_before, const PaceSettings& pace,
                                std::string_view reason) {
  return retry_window(waiting + 2 * away, not_before, pace, reason);
}

}  // namespace coterie
