// RingSum: the exact sum modulo 2^64 (proto/ring) of the open batch, which several threads add whole updates to at
// once.
//
// The vector is cut into tiles, each under its own lock; as sums modulo 2^64 commute, threads may visit the tiles in
// any order, and each begins at another. An update that turns out to hold a bad value is taken back exactly.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "aggregation/accumulate/accumulator.h"
#include "proto/ring/fixed_point.h"

namespace coterie {

class RingSum final : public Accumulator {
 public:
  // `spec` says how values become lanes; lanes that come as such it does not concern.
  RingSum(uint64_t lane_count, const FixedPointSpec& spec);

  const FixedPointSpec& spec() const { return spec_; }
  uint64_t lane_count() const override { return lanes_.size(); }
  // Precondition: as many values as lanes.
  Status add(std::span<const float> values, uint32_t weight, const DeviceId& from = {}) override;
  // Narrow lanes are added as they are: the low bits of the sum are their sum modulo 2^16 or 2^32, and what they carry
  // above does not count.
  void merge(const AnyLanes& lanes) override;

  std::span<const uint64_t> lanes() const override { return lanes_; }
  void clear() override;

 private:
  static constexpr size_t kTiles = 32;
  std::pair<size_t, size_t> range(size_t tile) const;  // offset, count

  FixedPointSpec spec_;
  std::vector<uint64_t> lanes_;
  std::array<std::mutex, kTiles> locks_;
  std::atomic<size_t> next_start_{0};
};

}  // namespace coterie
