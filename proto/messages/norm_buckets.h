// The buckets of a NormHistogram. They are the same everywhere and at all times:
//
//   bucket 0        norms below 2^-16, 0 among them
//   bucket 1...62   bucket i: [2^((i - 33) / 2), 2^((i - 32) / 2)), each sqrt(2) times as wide as the one before
//   bucket 63       2^15 and above
#pragma once

#include "proto/messages/norm_histogram.h"

namespace coterie {

// Precondition: norm is at least 0 and no NaN. The same on every machine: no logarithm is taken.
size_t norm_bucket(double norm);
// Where bucket i begins: 0 for the first. Precondition: bucket < kNormBuckets.
double norm_bucket_begin(size_t bucket);

// From the first bucket that has an update up to and without `end`, behind the last that has. Precondition: there are
// updates.
struct NormBucketRange {
  size_t begin = 0, end = 0;
};
NormBucketRange used_norm_buckets(const NormHistogram& norms);

// The norm that `share` of the updates is within, to a bucket: between the edges of its bucket it is taken to grow by
// the same factor from update to update. The two ends have one edge each, which is what they say. Precondition: there
// are updates, 0 <= share <= 1.
double norm_quantile(const NormHistogram& norms, double share);

}  // namespace coterie
