// The buckets of a CosineHistogram. They are the same everywhere and at all times, each a twentieth wide:
//
//   bucket i   [(i - 20) / 20, (i - 19) / 20), edges rounded to the nearest double; the last has 1, too
#pragma once

#include "proto/messages/cosine_histogram.h"

namespace coterie {

// Precondition: -1 <= cosine <= 1. The same on every machine: edges are compared with.
size_t cosine_bucket(double cosine);
// Where bucket i begins; of kCosineBuckets, where the last ends. Precondition: bucket <= kCosineBuckets.
double cosine_bucket_begin(size_t bucket);

// The cosine that `share` of the updates that have one are below, to a bucket: within it they are taken to be spread
// evenly. Precondition: there are such updates, 0 <= share <= 1.
double cosine_quantile(const CosineHistogram& cosines, double share);

}  // namespace coterie
