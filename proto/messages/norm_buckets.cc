#include "proto/messages/norm_buckets.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr double kLeast = 0x1p-16;                    // where bucket 1 begins
constexpr double kSqrtHalf = 0.70710678118654752440;  // to the nearest double

}  // namespace

uint64_t NormHistogram::updates() const { return std::accumulate(counts.begin(), counts.end(), uint64_t{0}); }

NormHistogram& NormHistogram::operator+=(const NormHistogram& other) {
  for (size_t i = 0; i < kNormBuckets; ++i) counts[i] += other.counts[i];
  return *this;
}

size_t norm_bucket(double norm) {
  COT_ASSERT(norm >= 0);
  if (norm < kLeast) return 0;
  if (norm >= norm_bucket_begin(kNormBuckets - 1)) return kNormBuckets - 1;
  int exponent = 0;
  const double mantissa = std::frexp(norm, &exponent);  // norm = mantissa * 2^exponent, mantissa in [1/2, 1)
  return static_cast<size_t>(2 * exponent + 31 + (mantissa >= kSqrtHalf ? 1 : 0));
}

double norm_bucket_begin(size_t bucket) {
  COT_ASSERT(bucket < kNormBuckets);
  if (bucket == 0) return 0;
  const int half = static_cast<int>(bucket) - 33;  // halves of a power of two
  return half % 2 == 0 ? std::ldexp(1.0, half / 2) : std::ldexp(kSqrtHalf, (half + 1) / 2);
}

NormBucketRange used_norm_buckets(const NormHistogram& norms) {
  NormBucketRange used{0, kNormBuckets};
  COT_ASSERT(norms.updates() > 0);
  while (norms.counts[used.begin] == 0) ++used.begin;
  while (norms.counts[used.end - 1] == 0) --used.end;
  return used;
}

double norm_quantile(const NormHistogram& norms, double share) {
  const uint64_t updates = norms.updates();
  COT_ASSERT(updates > 0 && share >= 0 && share <= 1);
  double left = share * static_cast<double>(updates);
  size_t bucket = 0;
  for (; bucket + 1 < kNormBuckets; ++bucket) {
    const auto count = static_cast<double>(norms.counts[bucket]);
    if (count > 0 && left <= count) break;
    left -= count;
  }
  if (bucket == 0) return kLeast;
  const double begin = norm_bucket_begin(bucket);
  if (bucket + 1 == kNormBuckets) return begin;
  const double part = std::clamp(left / static_cast<double>(norms.counts[bucket]), 0.0, 1.0);
  return begin * std::exp2(part / 2);
}

}  // namespace coterie
