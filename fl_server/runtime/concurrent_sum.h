// ConcurrentSum: the open batch's sum, which several threads add whole updates to at once.
//
// The vector is cut into tiles, each under its own lock; as sums modulo 2^64 commute, threads may visit the tiles in
// any order, and each begins at another. An update that turns out to hold a bad value is taken back exactly.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

#include "base/result.h"
#include "proto/ring/fixed_point.h"

namespace coterie {

using AnyLanes = std::variant<std::span<const uint64_t>, std::span<const uint32_t>, std::span<const uint16_t>>;

class ConcurrentSum {
 public:
  explicit ConcurrentSum(uint64_t lane_count);

  uint64_t lane_count() const { return lanes_.size(); }
  // Thread-safe against itself. All of the update or, with the error, nothing.
  Status add(std::span<const float> values, uint32_t weight, const FixedPointSpec& spec);
  // An update that is lanes already: a masked one. Narrow lanes are added as they are: the low bits of the sum are
  // their sum modulo 2^16 or 2^32, and what they carry above does not count.
  void add_lanes(const AnyLanes& lanes);

  // For the one who spills: nobody adds meanwhile.
  std::span<const uint64_t> lanes() const { return lanes_; }
  void clear();

 private:
  static constexpr size_t kTiles = 32;
  std::pair<size_t, size_t> range(size_t tile) const;  // offset, count

  std::vector<uint64_t> lanes_;
  std::array<std::mutex, kTiles> locks_;
  std::atomic<size_t> next_start_{0};
};

}  // namespace coterie
