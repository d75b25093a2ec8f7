#include "aggregation/accumulate/ring_sum.h"

#include <algorithm>
#include <functional>
#include <type_traits>

#include "proto/ring/ring_vector.h"

namespace coterie {

RingSum::RingSum(uint64_t lane_count, const FixedPointSpec& spec) : spec_(spec), lanes_(lane_count) {}

std::pair<size_t, size_t> RingSum::range(size_t tile) const {
  const size_t size = (lanes_.size() + kTiles - 1) / kTiles;
  const size_t offset = std::min(lanes_.size(), tile * size);
  return {offset, std::min(size, lanes_.size() - offset)};
}

Status RingSum::add(std::span<const float> values, uint32_t weight, const DeviceId&) {
  COT_ASSERT(values.size() == lanes_.size());
  // Each update walks the tiles from another one on, so that threads rarely want the same lock. Sums are modulo 2^64,
  // where order changes nothing.
  const size_t start = next_start_.fetch_add(kTiles / 4);  // far from where the others are
  for (size_t i = 0; i < kTiles; ++i) {
    const size_t tile = (start + i) % kTiles;
    const auto [offset, count] = range(tile);
    Status added;
    {
      const std::lock_guard lock(locks_[tile]);
      added = add_update(values.subspan(offset, count), weight, spec_, std::span(lanes_).subspan(offset, count));
    }
    if (added) continue;
    // The failed tile has undone itself; the tiles before it hold this update, and others' besides.
    for (size_t j = 0; j < i; ++j) {
      const size_t undone = (start + j) % kTiles;
      const auto [undo_offset, undo_count] = range(undone);
      const std::lock_guard lock(locks_[undone]);
      subtract_update(values.subspan(undo_offset, undo_count), weight, spec_,
                      std::span(lanes_).subspan(undo_offset, undo_count));
    }
    return added;
  }
  return {};
}

void RingSum::merge(const AnyLanes& any) {
  const size_t start = next_start_.fetch_add(kTiles / 4);
  const auto add = [&](const auto& lanes) {
    COT_ASSERT(lanes.size() == lanes_.size());
    for (size_t i = 0; i < kTiles; ++i) {
      const size_t tile = (start + i) % kTiles;
      const auto [offset, count] = range(tile);
      const std::lock_guard lock(locks_[tile]);
      const auto own = std::span(lanes_).subspan(offset, count);
      const auto others = lanes.subspan(offset, count);
      if constexpr (std::is_same_v<decltype(others), const std::span<const uint64_t>>) add_lanes(others, own);
      else std::transform(own.begin(), own.end(), others.begin(), own.begin(), std::plus<uint64_t>());
    }
  };
  std::visit(add, any);
}

void RingSum::clear() { std::fill(lanes_.begin(), lanes_.end(), 0); }

}  // namespace coterie
