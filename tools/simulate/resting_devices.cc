#include "tools/simulate/resting_devices.h"

#include <algorithm>

#include "scheduler/job/horizontal_settings.h"
#include "tools/simulate/virtual_round.h"

namespace coterie {

void RestingDevices::add(const std::vector<uint32_t>& counted) {
  if (rounds_ == 0) return;
  counted_.push_back(counted);
  if (counted_.size() > rounds_) counted_.pop_front();
  devices_.clear();
  for (const std::vector<uint32_t>& round : counted_) devices_.insert(devices_.end(), round.begin(), round.end());
  std::ranges::sort(devices_);
}

Result<RestingDevices> resting_after(const VirtualFleet& fleet, const HorizontalSettings& job, uint64_t rounds) {
  RestingDevices resting(job.rounds.separation_min);
  for (uint64_t round = 1; job.rounds.separation_min > 1 && round <= rounds; ++round) {
    const VirtualRound drawn = draw_attempts(fleet, job, round, resting.devices());
    if (drawn.is_failed) {
      return Error(ErrorCode::malformed, "checkpoint.json: /rounds_done must be below " + std::to_string(round) +
                                             ", a round that fails in all of its attempts");
    }
    resting.add(drawn.counted);
  }
  return resting;
}

std::string who_may_be_asked(const VirtualFleet& fleet, const RoundSettings& rounds,
                             const std::vector<uint32_t>& resting) {
  return "of " + std::to_string(fleet.devices) + " devices " + std::to_string(fleet.devices - resting.size()) +
         " may be asked, as /rounds/separation_min is " + std::to_string(rounds.separation_min);
}

}  // namespace coterie
