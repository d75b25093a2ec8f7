// The pieces of ranges of values that lie in a tile.
#pragma once

#include <algorithm>
#include <span>

#include "proto/messages/running_statistics.h"

namespace coterie {

// Calls visit(first, count) for each piece of the ranges that lies in [offset, offset + count).
template <typename Visit>
void for_each_overlap(std::span<const ValueRange> ranges, uint64_t offset, uint64_t count, Visit visit) {
  for (const ValueRange& range : ranges) {
    const uint64_t begin = std::max(offset, range.first);
    const uint64_t end = std::min(offset + count, range.first + range.count);
    if (begin < end) visit(begin, end - begin);
  }
}

// Likewise for what lies in no range. They rise, and are apart.
template <typename Visit>
void for_each_gap(std::span<const ValueRange> ranges, uint64_t offset, uint64_t count, Visit visit) {
  const uint64_t end = offset + count;
  auto range = std::ranges::partition_point(
      ranges, [offset](const ValueRange& range) { return range.first + range.count <= offset; });
  uint64_t at = offset;
  for (; range != ranges.end() && range->first < end; ++range) {
    if (at < range->first) visit(at, range->first - at);
    at = range->first + range->count;
  }
  if (at < end) visit(at, end - at);
}

}  // namespace coterie
