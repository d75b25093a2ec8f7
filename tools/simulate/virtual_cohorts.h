// VirtualCohorts: the sums of the cohorts of a virtual round, as a server keeps them for a rule that compares them
// (aggregation/accumulate/cohort_sums.h). Masks cancel, so that none are computed: a session has a name, check lanes
// and nothing to take off.
//
// Devices are placed as a server places them, by the ids that the demo's devices of the same seed have: with all of
// them in each round cohorts and model are those of `coterie demo`.
#pragma once

#include <map>
#include <vector>

#include "aggregation/accumulate/cohort_sums.h"
#include "fl_server/finalize/sum_masks.h"
#include "proto/messages/plan.h"
#include "secure/secagg/cohort_draw.h"

namespace coterie {

// The id of the demo's device with this number, from 0, whose key follows from the seed.
DeviceId seeded_device(uint64_t seed, uint32_t device);

class VirtualCohorts final : public Accumulator {
 public:
  // `plan`: of the job. `seed`: of the demo's devices. A round has `cohorts_max` cohorts at most.
  VirtualCohorts(const Plan& plan, uint64_t seed, uint32_t cohorts_max);

  // Places the devices of a round, before the first of their updates is added.
  void begin(const RoundKey& round, const Digest& model, const std::vector<uint32_t>& devices);
  // What a server would have opened, of those who were placed last.
  SumMasks masks() const;

  // Precondition: `from` is the virtual_device() of one that was placed.
  Status add(std::span<const float> values, uint32_t weight, const DeviceId& from) override;

  uint64_t lane_count() const override { return sums_.lane_count(); }
  void merge(const AnyLanes& lanes) override { sums_.merge(lanes); }
  std::span<const uint64_t> lanes() const override { return sums_.lanes(); }
  void clear() override { sums_.clear(); }

 private:
  Plan plan_;
  uint64_t seed_;
  uint32_t cohorts_max_;
  secagg::SessionParameters session_;
  CohortSums sums_;
  std::map<uint32_t, DeviceId> seeded_;  // of whoever was in a round
  std::map<DeviceId, size_t> placed_;    // virtual devices of this one, by place in `cohorts_`
  std::vector<secagg::SummedSession> cohorts_;
};

}  // namespace coterie
