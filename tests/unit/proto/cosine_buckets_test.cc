#include "proto/messages/cosine_buckets.h"

#include <gtest/gtest.h>

#include <cmath>

namespace coterie {
namespace {

TEST(CosineHistogram, HasEachCosineInTheBucketWhoseEdgesItIsBetween) {
  for (size_t bucket = 0; bucket < kCosineBuckets; ++bucket) {
    const double begin = cosine_bucket_begin(bucket);
    EXPECT_NEAR(begin, -1 + 0.05 * static_cast<double>(bucket), 1e-15);
    EXPECT_EQ(cosine_bucket(begin), bucket);
    if (bucket > 0) EXPECT_EQ(cosine_bucket(std::nextafter(begin, -2.0)), bucket - 1);
  }
  EXPECT_EQ(cosine_bucket(1), kCosineBuckets - 1);
  EXPECT_EQ(cosine_bucket(0), 20u) << "an edge for good: counts of versions add up";
  EXPECT_EQ(cosine_bucket(-0.0), 20u);
  EXPECT_EQ(cosine_bucket_begin(kCosineBuckets), 1);
}

TEST(CosineHistogram, KnowsQuantilesToABucket) {
  CosineHistogram cosines;
  cosines.counts[cosine_bucket(0.5)] = 8;  // [0.5, 0.55)
  cosines.counts.front() = cosines.counts.back() = 1;
  cosines.undirected = 1;
  EXPECT_EQ(cosines.updates(), 11u);
  EXPECT_EQ(cosines.directed(), 10u);
  EXPECT_EQ(cosine_quantile(cosines, 0), -1);
  EXPECT_DOUBLE_EQ(cosine_quantile(cosines, 0.05), -0.975);
  EXPECT_DOUBLE_EQ(cosine_quantile(cosines, 0.5), 0.525) << "half of the bucket; who has no cosine does not count";
  EXPECT_DOUBLE_EQ(cosine_quantile(cosines, 0.95), 0.975);
  EXPECT_EQ(cosine_quantile(cosines, 1), 1);
}

}  // namespace
}  // namespace coterie
