#include "proto/messages/cosine_buckets.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"

namespace coterie {

uint64_t CosineHistogram::directed() const { return std::accumulate(counts.begin(), counts.end(), uint64_t{0}); }

size_t cosine_bucket(double cosine) {
  COT_ASSERT(cosine >= -1 && cosine <= 1);
  size_t bucket = 0;
  while (bucket + 1 < kCosineBuckets && cosine >= cosine_bucket_begin(bucket + 1)) ++bucket;
  return bucket;
}

double cosine_bucket_begin(size_t bucket) {
  COT_ASSERT(bucket <= kCosineBuckets);
  constexpr int kHalf = kCosineBuckets / 2;
  return static_cast<double>(static_cast<int>(bucket) - kHalf) / kHalf;
}

double cosine_quantile(const CosineHistogram& cosines, double share) {
  const uint64_t updates = cosines.directed();
  COT_ASSERT(updates > 0 && share >= 0 && share <= 1);
  double left = share * static_cast<double>(updates);
  size_t bucket = 0, last = 0;  // last: that has any
  for (; bucket < kCosineBuckets; ++bucket) {
    const auto count = static_cast<double>(cosines.counts[bucket]);
    if (count == 0) continue;
    last = bucket;
    if (left <= count) break;
    left -= count;
  }
  const double begin = cosine_bucket_begin(last), end = cosine_bucket_begin(last + 1);
  const double part = std::clamp(left / static_cast<double>(cosines.counts[last]), 0.0, 1.0);
  return begin + part * (end - begin);
}

}  // namespace coterie
