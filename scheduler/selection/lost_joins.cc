#include "scheduler/selection/lost_joins.h"

#include <algorithm>

namespace coterie {

void LostJoins::joined(const JobId& job, const RoundKey& key, const DeviceId& device) {
  goes_on_with(job, key.round);
  // What is remembered is bounded. The job whose devices joined longest ago is forgotten first, never this one's.
  if (size_ >= kDevicesMax) make_room_for(job);
  Round& round = rounds_[job];
  round.id = key.round;
  round.used = ++joins_;
  const auto known = round.devices.find(device);
  if (known == round.devices.end()) {
    if (size_ >= kDevicesMax) return;
    round.devices.emplace(device, Joins{1, key.attempt});
    ++size_;
  } else if (known->second.last < key.attempt) {  // a check-in that is repeated within an attempt is one join
    ++known->second.count;
    known->second.last = key.attempt;
  }
}

void LostJoins::accepted(const JobId& job, const RoundKey& key, const DeviceId& device) {
  const auto round = rounds_.find(job);
  if (round == rounds_.end() || round->second.id != key.round) return;
  size_ -= round->second.devices.erase(device);
}

void LostJoins::goes_on_with(const JobId& job, RoundId round) {
  const auto known = rounds_.find(job);
  if (known == rounds_.end() || known->second.id == round) return;
  size_ -= known->second.devices.size();
  rounds_.erase(known);
}

uint32_t LostJoins::before(const JobId& job, const RoundKey& key, const DeviceId& device) const {
  const auto round = rounds_.find(job);
  if (round == rounds_.end() || round->second.id != key.round) return 0;
  const auto known = round->second.devices.find(device);
  if (known == round->second.devices.end()) return 0;
  return known->second.count - (known->second.last == key.attempt ? 1 : 0);
}

void LostJoins::make_room_for(const JobId& job) {
  auto oldest = rounds_.end();
  for (auto round = rounds_.begin(); round != rounds_.end(); ++round) {
    if (round->first == job) continue;
    if (oldest == rounds_.end() || round->second.used < oldest->second.used) oldest = round;
  }
  if (oldest == rounds_.end()) return;
  size_ -= oldest->second.devices.size();
  rounds_.erase(oldest);
}

}  // namespace coterie
