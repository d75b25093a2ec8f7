#include "aggregation/robust/update_cosines.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "proto/messages/cosine_buckets.h"

namespace coterie {
namespace {

constexpr size_t kBlockValues = 2048;  // so that the step's stay in a cache for all updates

double product(float a, float b) { return static_cast<double>(a) * static_cast<double>(b); }

}  // namespace

void UpdateCosines::add(uint64_t first, std::span<const std::span<const float>> rows, std::span<const float> step) {
  COT_ASSERT(rows.size() == updates_.size());
  for (size_t offset = 0; offset < step.size(); offset += kBlockValues) {
    const size_t size = std::min(kBlockValues, step.size() - offset);
    const float* const b = step.data() + offset;
    step_squares_.add(first + offset, size, [b](size_t i) { return product(b[i], b[i]); });
    for (size_t row = 0; row < rows.size(); ++row) {
      const float* const a = rows[row].subspan(offset, size).data();
      updates_[row].products.add(first + offset, size, [a, b](size_t i) { return product(a[i], b[i]); });
      updates_[row].squares.add(first + offset, size, [a](size_t i) { return product(a[i], a[i]); });
    }
  }
}

std::optional<double> UpdateCosines::cosine(size_t update) const {
  COT_ASSERT(update < updates_.size());
  const Sums& sums = updates_[update];
  // A root each: the product of both squares could be more than a double has.
  const double lengths = std::sqrt(sums.squares.total()) * std::sqrt(step_squares_.total());
  if (!(lengths > 0) || !std::isfinite(lengths)) return std::nullopt;
  return std::clamp(sums.products.total() / lengths, -1.0, 1.0);  // rounding may be beyond
}

CosineHistogram UpdateCosines::histogram() const {
  CosineHistogram cosines;
  for (size_t update = 0; update < updates_.size(); ++update) {
    if (const std::optional<double> found = cosine(update)) ++cosines.counts[cosine_bucket(*found)];
    else ++cosines.undirected;
  }
  return cosines;
}

}  // namespace coterie
