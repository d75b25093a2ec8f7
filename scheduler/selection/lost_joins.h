// LostJoins: how often a device has joined attempts of a round with an update that it holds, none of which counted it.
// Pure.
//
// Whoever joins takes no ticket, so that nothing else rations how often a device may. With secure aggregation a few
// that join and vanish end an attempt, and are back for the next one of the same round (ADR 127): this is what tells
// them from devices that have not been there. What is known of a round goes with the next one of its job.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "base/ids.h"

namespace coterie {

class LostJoins {
 public:
  // Devices that are remembered at once, over all jobs. Behind that the job whose round was joined longest ago is
  // forgotten; a round that has so many alone remembers no more of them.
  static constexpr size_t kDevicesMax = 100'000;

  // Counts once an attempt.
  void joined(const JobId& job, const RoundKey& key, const DeviceId& device);
  void accepted(const JobId& job, const RoundKey& key, const DeviceId& device);
  // The job's round is this one: what was known of another is forgotten.
  void goes_on_with(const JobId& job, RoundId round);

  // Attempts of the round before `key` that the device joined.
  uint32_t before(const JobId& job, const RoundKey& key, const DeviceId& device) const;
  size_t size() const { return size_; }

 private:
  struct Joins {
    uint32_t count = 0;
    Attempt last;
  };
  struct Round {
    RoundId id;
    std::unordered_map<DeviceId, Joins> devices;
    uint64_t used = 0;  // when it was joined last, in joins
  };

  void make_room_for(const JobId& job);

  std::map<JobId, Round> rounds_;  // that somebody joined
  size_t size_ = 0;
  uint64_t joins_ = 0;
};

}  // namespace coterie
