// CohortSums: one sum for each cohort of the open batch, for rules that compare cohorts where masks hide single updates
// (aggregation/robust). Batches are merged by adding up sums of one session; which order sessions are in means nothing.
//
// A cohort's sum is kept as lanes, so that it lies where sums lie:
//   lane 0...3  the name of the session, as its bytes are
//   lane 4      how many updates are in the sum
//   lanes 5...  the sum of the masked updates, modulo 2^64
#pragma once

#include <mutex>
#include <vector>

#include "aggregation/accumulate/accumulator.h"
#include "base/ids.h"

namespace coterie {

// Where the parts of a cohort's sum lie.
struct CohortSumLayout {
  static constexpr uint64_t kSessionLanes = sizeof(Digest) / sizeof(uint64_t);
  static constexpr uint64_t kUpdatesLane = kSessionLanes;
  static constexpr uint64_t kSumLane = kUpdatesLane + 1;

  uint64_t update_lanes = 0;  // of a masked update, check lanes included

  uint64_t lanes() const { return kSumLane + update_lanes; }  // of one cohort
  uint64_t bytes() const { return lanes() * sizeof(uint64_t); }
  // Bytes from the first one of a cohort to lane `index` of its sum.
  static uint64_t lane_offset(uint64_t index) { return (kSumLane + index) * sizeof(uint64_t); }
};

class CohortSums final : public Accumulator {
 public:
  // `update_lanes`: of a masked update.
  explicit CohortSums(uint64_t update_lanes) : layout_{update_lanes} {}

  // What there is now: so many lanes for each cohort.
  uint64_t lane_count() const override { return lanes_.size(); }
  // invalid_argument: an update that comes without a session is in no cohort.
  Status add(std::span<const float> values, uint32_t weight, const DeviceId& from) override;
  // Sums of another batch of the same layout. Precondition: whole cohorts in 64-bit lanes.
  void merge(const AnyLanes& lanes) override;
  void merge_masked(const AnyLanes& lanes, const Digest& session) override;

  std::span<const uint64_t> lanes() const override { return lanes_; }
  void clear() override { lanes_.clear(); }

 private:
  std::span<uint64_t> cohort_of(std::span<const uint64_t> session);

  CohortSumLayout layout_;
  std::mutex mutex_;
  std::vector<uint64_t> lanes_;
};

}  // namespace coterie
