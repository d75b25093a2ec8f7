#include "fl_server/core/token_buckets.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "base/random.h"

namespace coterie {
namespace {

constexpr TokenBucketSettings kSettings{.per_second = 4, .burst = 3, .callers_max = 100};
Instant at(int64_t ms) { return Instant(Millis(1'000'000 + ms)); }
CallerKey caller(uint64_t number) { return {number, ~number}; }

TEST(TokenBuckets, LetABurstThroughAndThenTheRate) {
  TokenBuckets buckets(kSettings, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(buckets.take(caller(1), at(0)), std::nullopt);
  EXPECT_EQ(buckets.take(caller(1), at(0)), Millis(250));
  EXPECT_EQ(buckets.take(caller(1), at(100)), Millis(150)) << "asking in vain costs nothing";
  EXPECT_EQ(buckets.take(caller(1), at(250)), std::nullopt);
  EXPECT_EQ(buckets.take(caller(1), at(250)), Millis(250));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(buckets.take(caller(1), at(60'000)), std::nullopt) << "never more than a burst";
  EXPECT_NE(buckets.take(caller(1), at(60'000)), std::nullopt);
}

TEST(TokenBuckets, CallersDoNotPayForEachOther) {
  TokenBuckets buckets(kSettings, 1);
  for (int i = 0; i < 4; ++i) (void)buckets.take(caller(1), at(0));
  EXPECT_EQ(buckets.take(caller(2), at(0)), std::nullopt);
}

TEST(TokenBuckets, LookingTakesNothingAndRemembersNobody) {
  TokenBuckets buckets(kSettings, 1);
  EXPECT_EQ(buckets.look(caller(1), at(0)), std::nullopt);
  EXPECT_FALSE(buckets.knows(caller(1)));
  for (int i = 0; i < 3; ++i) (void)buckets.take(caller(1), at(0));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(buckets.look(caller(1), at(0)), Millis(250));
  EXPECT_TRUE(buckets.knows(caller(1)));
}

TEST(TokenBuckets, RememberThoseWhoAskedLast) {
  TokenBuckets buckets(kSettings, 1);
  for (int i = 0; i < 3; ++i) (void)buckets.take(caller(0), at(0));
  for (uint64_t other = 1; other < 5'000; ++other) {
    (void)buckets.take(caller(other), at(0));
    if (other % 50 == 0) {
      EXPECT_NE(buckets.take(caller(0), at(0)), std::nullopt) << "who goes on asking is not forgotten";
    }
    ASSERT_LE(buckets.size(), 100u);
  }
  EXPECT_TRUE(buckets.knows(caller(4'999)));
  EXPECT_FALSE(buckets.knows(caller(1)));
}

TEST(TokenBuckets, WithoutARateLetEverybodyThrough) {
  TokenBuckets buckets({.per_second = 0, .burst = 1, .callers_max = 10}, 1);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(buckets.take(caller(1), at(0)), std::nullopt);
  EXPECT_EQ(buckets.size(), 0u);
}

// Against a bucket written the long way; and the wait that is named is the shortest that helps.
TEST(TokenBuckets, AreTheBucketsOfTheTextbook) {
  constexpr uint64_t kSeeds = 50;
  std::printf("%llu seeds\n", static_cast<unsigned long long>(kSeeds));
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Prng prng(seed);
    const TokenBucketSettings settings{.per_second = 1.0 / (1 + static_cast<double>(prng.below(8))) * 8,
                                       .burst = 1 + static_cast<uint32_t>(prng.below(9)),
                                       .callers_max = 8};
    TokenBuckets buckets(settings, seed);
    struct Long {
      double tokens;
      int64_t ms;
    };
    std::map<uint64_t, Long> reference;
    int64_t now = 0;
    for (int step = 0; step < 500; ++step) {
      now += static_cast<int64_t>(prng.below(600));
      const uint64_t who = prng.below(8);
      Long& bucket = reference.try_emplace(who, Long{static_cast<double>(settings.burst), now}).first->second;
      bucket.tokens = std::min<double>(
          settings.burst, bucket.tokens + settings.per_second * static_cast<double>(now - bucket.ms) / 1000);
      bucket.ms = now;
      if (std::abs(bucket.tokens - 1) < 0.01) continue;  // rounding decides
      const std::optional<Millis> wait = buckets.take(caller(who), at(now));
      ASSERT_EQ(wait.has_value(), bucket.tokens < 1) << "seed " << seed << " step " << step;
      if (!wait) {
        bucket.tokens -= 1;
        continue;
      }
      ASSERT_NE(buckets.look(caller(who), at(now + wait->count() - 1)), std::nullopt);
      ASSERT_EQ(buckets.look(caller(who), at(now + wait->count())), std::nullopt);
    }
  }
}

}  // namespace
}  // namespace coterie
