// KeptUpdates: the updates of the open batch themselves, one behind the other, for rules that look at single updates
// (aggregation/robust). Batches are merged by concatenation; which order the updates are in means nothing, as each is
// named by its device.
//
// An update is kept as lanes, so that it lies where sums lie:
//   lane 0, 1   the device's id, as its bytes are
//   lane 2      the weight
//   lanes 3...  the values, two float32 a lane, little-endian, the last one filled up with 0
#pragma once

#include <mutex>
#include <vector>

#include "aggregation/accumulate/accumulator.h"
#include "base/ids.h"
#include "proto/ring/fixed_point.h"

namespace coterie {

// Where the parts of a kept update lie.
struct KeptLayout {
  static constexpr uint64_t kDeviceLanes = sizeof(DeviceId) / sizeof(uint64_t);
  static constexpr uint64_t kWeightLane = kDeviceLanes;
  static constexpr uint64_t kValuesLane = kWeightLane + 1;

  uint64_t value_count = 0;

  uint64_t lanes() const { return kValuesLane + (value_count + 1) / 2; }  // of one update
  uint64_t bytes() const { return lanes() * sizeof(uint64_t); }
  // Bytes from the first one of an update to its value `index`.
  static uint64_t value_offset(uint64_t index) { return kValuesLane * sizeof(uint64_t) + index * sizeof(float); }
};

class KeptUpdates final : public Accumulator {
 public:
  // `spec` says which values and weights an update may have.
  KeptUpdates(uint64_t value_count, const FixedPointSpec& spec) : layout_{value_count}, spec_(spec) {}

  // What there is now: so many lanes for each update.
  uint64_t lane_count() const override { return lanes_.size(); }
  // Precondition: as many values as the layout has.
  Status add(std::span<const float> values, uint32_t weight, const DeviceId& from) override;
  // Those of another batch of the same layout, behind these. Precondition: whole updates in 64-bit lanes.
  void merge(const AnyLanes& lanes) override;

  std::span<const uint64_t> lanes() const override { return lanes_; }
  void clear() override;

 private:
  KeptLayout layout_;
  FixedPointSpec spec_;
  std::mutex mutex_;
  std::vector<uint64_t> lanes_;
};

}  // namespace coterie
