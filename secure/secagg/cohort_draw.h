// Which cohort a device of a round is in where a rule compares cohorts (aggregation/robust): devices in the order of a
// hash that the round's model and attempt salt, cut evenly. So nobody chooses by when it comes whom it is with, cohorts
// are others in each round, and the same devices of the same round are in the same cohorts again. Pure.
//
// Whoever can make device ids by the thousand can still make one that lies where he wants it: as for all else, who
// enrols devices decides (docs/THREAT_MODEL.md).
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace coterie::secagg {

struct CohortDraw {
  Digest model;  // that the round's devices train from
  Attempt attempt;
};

// The devices of each cohort; sizes differ by 1 at most. There are `cohorts_max` of them, which is 1 at least, or fewer
// where they would have less than `size_min` devices. The order is that of SHA-256 of "coterie/v1/cohort-draw", model,
// attempt and device (secure/crypto/domain_fields.h).
std::vector<std::vector<DeviceId>> drawn_cohorts(const CohortDraw& draw, const std::vector<DeviceId>& devices,
                                                 uint32_t cohorts_max, uint32_t size_min);

}  // namespace coterie::secagg
