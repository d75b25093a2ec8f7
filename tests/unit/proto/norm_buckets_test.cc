#include "proto/messages/norm_buckets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace coterie {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(NormHistogram, HasEachNormInTheBucketWhoseEdgesItIsBetween) {
  EXPECT_EQ(norm_bucket(0), 0u);
  EXPECT_EQ(norm_bucket(std::numeric_limits<double>::denorm_min()), 0u);
  EXPECT_EQ(norm_bucket(kInfinity), kNormBuckets - 1);
  for (size_t bucket = 1; bucket < kNormBuckets; ++bucket) {
    const double begin = norm_bucket_begin(bucket);
    EXPECT_EQ(norm_bucket(begin), bucket);
    EXPECT_EQ(norm_bucket(std::nextafter(begin, 0.0)), bucket - 1);
    EXPECT_NEAR(begin, std::pow(2.0, (static_cast<double>(bucket) - 33) / 2), 1e-15 * begin);
  }
  EXPECT_EQ(norm_bucket(1), 33u) << "an edge for good: counts of versions add up";
}

TEST(NormHistogram, AddsUpBucketByBucket) {
  NormHistogram a, b;
  a.counts[3] = 2;
  b.counts[3] = 5;
  b.counts[63] = 1;
  a += b;
  EXPECT_EQ(a.counts[3], 7u);
  EXPECT_EQ(a.updates(), 8u);
}

TEST(NormHistogram, KnowsWhichBucketsHaveUpdates) {
  for (const auto& [begin, end] : {NormBucketRange{0, 1}, {63, 64}, {3, 9}, {0, 64}}) {
    NormHistogram norms;
    norms.counts[begin] = norms.counts[end - 1] = 2;
    EXPECT_EQ(used_norm_buckets(norms).begin, begin);
    EXPECT_EQ(used_norm_buckets(norms).end, end);
  }
}

TEST(NormHistogram, KnowsQuantilesToABucket) {
  NormHistogram norms;
  norms.counts[norm_bucket(1)] = 8;  // [1, sqrt(2))
  norms.counts[norm_bucket(4)] = 2;
  EXPECT_DOUBLE_EQ(norm_quantile(norms, 0), 1);
  EXPECT_DOUBLE_EQ(norm_quantile(norms, 0.4), std::exp2(0.25)) << "half of the bucket, in its own measure";
  EXPECT_DOUBLE_EQ(norm_quantile(norms, 0.8), std::exp2(0.5));
  EXPECT_DOUBLE_EQ(norm_quantile(norms, 0.9), 4 * std::exp2(0.25));
  EXPECT_DOUBLE_EQ(norm_quantile(norms, 1), 4 * std::exp2(0.5));
  NormHistogram ends;
  ends.counts.front() = ends.counts.back() = 1;
  EXPECT_EQ(norm_quantile(ends, 0.5), 0x1p-16);
  EXPECT_EQ(norm_quantile(ends, 1), 0x1p15);
}

}  // namespace
}  // namespace coterie
