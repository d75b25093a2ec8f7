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

}  // namespace coterie
