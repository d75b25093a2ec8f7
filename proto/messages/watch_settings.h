// WatchSettings: which checks the devices of a job ask of their trainings, by name (ADR 156). What they found is told
// as lanes beside the update (watch_lanes.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coterie {

inline constexpr size_t kJobWatchChecksMax = 16;
inline constexpr uint32_t kJobWatchEvery = 50;
inline constexpr uint32_t kJobWatchEveryMax = 1'000'000;
// In a job's settings alone, by itself: the checks that fire on no healthy training that we know. A plan names them.
inline constexpr std::string_view kRecommendedChecks = "recommended";

struct WatchSettings {
  std::vector<std::string> checks = {};
  // A device looks at one step of `every`, from one of the first on that its training's seed draws: so that each local
  // step of some device is looked at, however few a device makes.
  uint32_t every = kJobWatchEvery;
  friend bool operator==(const WatchSettings&, const WatchSettings&) = default;
};

}  // namespace coterie
