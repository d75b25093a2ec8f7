#include "fl_server/serving/at_once.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace coterie {
namespace {

size_t size_of(uint64_t rows) { return static_cast<size_t>(std::bit_width(rows - 1)); }

}  // namespace

void ComputeCost::observe(uint64_t rows, Nanos took) {
  COT_ASSERT(rows >= 1);
  const size_t size = size_of(rows);
  if (size >= kSizes) return;
  const uint64_t whole = static_cast<uint64_t>(std::clamp(took, kLeast, kMost).count()) << size;
  const auto seen = static_cast<int64_t>(whole / rows);
  const int64_t before = nanos_[size].load(std::memory_order_relaxed);
  const int64_t after = before == 0 ? seen : before + (std::min(seen, 2 * before) - before) / kWeight;
  nanos_[size].store(after, std::memory_order_relaxed);
}

std::optional<Nanos> ComputeCost::expected(uint64_t rows) const {
  COT_ASSERT(rows >= 1);
  const size_t own = size_of(rows);
  if (own >= kSizes) return std::nullopt;
  int64_t least = 0;
  // More rows cost at least as much, so each larger size is a bound.
  for (size_t size = own; size < kSizes; ++size) {
    const int64_t nanos = nanos_[size].load(std::memory_order_relaxed);
    if (nanos > 0) least = least == 0 ? nanos : std::min(least, nanos);
  }
  if (least > 0) return Nanos(least);
  for (size_t size = own; size-- > 0;) {
    const int64_t nanos = nanos_[size].load(std::memory_order_relaxed);
    if (nanos > 0) return Nanos(nanos << (own - size));
  }
  return std::nullopt;
}

}  // namespace coterie
