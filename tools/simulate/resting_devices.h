// RestingDevices: whom the next round of a virtual fleet may not ask, as one of the last ones has counted it: a device
// that round n counts is drawn again in n + separation_min at the earliest, as store and check-in desk keep devices
// apart (AcceptStore::list_resting). Pure. A device is here once: 8 bytes for each that rests.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/result.h"

namespace coterie {

struct HorizontalSettings;
struct RoundSettings;
struct VirtualFleet;

class RestingDevices {
 public:
  // Below 2 nobody rests.
  explicit RestingDevices(uint32_t separation_min) : rounds_(separation_min > 1 ? separation_min - 1 : 0) {}

  // A round is done; `counted`: whose updates are in its sum. None of them rests.
  void add(const std::vector<uint32_t>& counted);
  // Those that rest in the next round, ascending.
  const std::vector<uint32_t>& devices() const { return devices_; }

 private:
  uint32_t rounds_;                            // that a device rests for
  std::deque<std::vector<uint32_t>> counted_;  // by so many last rounds, the newest behind
  std::vector<uint32_t> devices_;
};

// Who rests behind so many rounds, whose draws are replayed: rules that remember devices draw otherwise. malformed: a
// round of these fails in all of its attempts.
Result<RestingDevices> resting_after(const VirtualFleet& fleet, const HorizontalSettings& job, uint64_t rounds);

// A clause on who may be asked where some rest: why a round of few is not of more.
std::string who_may_be_asked(const VirtualFleet& fleet, const RoundSettings& rounds,
                             const std::vector<uint32_t>& resting);

}  // namespace coterie
