#include "fl_server/oidc/jwks_cache.h"

#include <gtest/gtest.h>

#include "tests/unit/fl_server/oidc/token_mint.h"

namespace coterie {
namespace {

const Instant kStart{Millis(1'000'000)};

JwkSet some_keys() { return test::set_of({test::MintKey(KeyAlgorithm::ed25519, "one").jwk()}); }

// A cache that has had its first answer at kStart.
JwksCache filled(std::optional<Millis> max_age = std::nullopt) {
  JwksCache cache(kStart);
  EXPECT_TRUE(cache.begin_fetch(kStart));
  cache.fetched(some_keys(), max_age, kStart);
  return cache;
}

TEST(JwksCache, AsksAtOnceAndOnlyOnceAtATime) {
  JwksCache cache(kStart);
  EXPECT_EQ(cache.next_deadline(), kStart);
  EXPECT_EQ(cache.keys(kStart), nullptr);
  EXPECT_FALSE(cache.begin_fetch(kStart - Millis(1)));
  EXPECT_TRUE(cache.begin_fetch(kStart));
  EXPECT_FALSE(cache.begin_fetch(kStart + kJwksRefreshMax));
  EXPECT_EQ(cache.next_deadline(), Instant::max());
  cache.fetched(some_keys(), std::nullopt, kStart);
  ASSERT_NE(cache.keys(kStart), nullptr);
  EXPECT_EQ(cache.keys(kStart)->keys.size(), 1u);
}

TEST(JwksCache, AsksAgainWhenTheAnswerIsOldWithinBounds) {
  EXPECT_EQ(filled().next_deadline(), kStart + kJwksRefreshDefault);
  EXPECT_EQ(filled(Millis(0)).next_deadline(), kStart + kJwksRefreshMin);
  EXPECT_EQ(filled(Millis(120'000)).next_deadline(), kStart + Millis(120'000));
  EXPECT_EQ(filled(Millis(1'000'000'000'000)).next_deadline(), kStart + kJwksRefreshMax);
}

TEST(JwksCache, AnUnknownKeyMakesItAskAtMostOncePerInterval) {
  JwksCache cache = filled();
  cache.key_was_unknown(kStart + Millis(1));
  EXPECT_EQ(cache.next_deadline(), kStart + kJwksUnknownKeyInterval);
  const Instant later = kStart + kJwksUnknownKeyInterval;
  EXPECT_TRUE(cache.begin_fetch(later));
  cache.key_was_unknown(later + Millis(1));  // the answer that is on its way may have it
  cache.fetched(some_keys(), std::nullopt, later + Millis(50));
  EXPECT_EQ(cache.next_deadline(), later + Millis(50) + kJwksRefreshDefault);

  // A forger's stream of names: one question an interval.
  size_t fetches = 0;
  const Instant begin = later + Millis(100);
  for (Instant now = begin; now < begin + 10 * kJwksUnknownKeyInterval; now += Millis(100)) {
    cache.key_was_unknown(now);
    if (!cache.begin_fetch(now)) continue;
    ++fetches;
    cache.fetched(some_keys(), std::nullopt, now);
  }
  EXPECT_EQ(fetches, 10u);
}

TEST(JwksCache, AnUnknownKeyAfterALongTimeMakesItAskAtOnce) {
  JwksCache cache = filled();
  const Instant later = kStart + Millis(300'000);
  cache.key_was_unknown(later);
  EXPECT_EQ(cache.next_deadline(), later);
}

TEST(JwksCache, AnUnknownKeyNeverDelaysARefresh) {
  JwksCache cache = filled(kJwksRefreshMin);
  cache.key_was_unknown(kStart + kJwksRefreshMin + Millis(10));
  EXPECT_EQ(cache.next_deadline(), kStart + kJwksRefreshMin);
}

TEST(JwksCache, RetriesWithLongerAndLongerWaits) {
  JwksCache cache(kStart);
  Instant now = kStart;
  std::vector<int64_t> waits;
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(cache.begin_fetch(now));
    cache.failed(now);
    waits.push_back((cache.next_deadline() - now).count());
    now = cache.next_deadline();
  }
  EXPECT_EQ(waits[0], kJwksRetryMin.count());
  EXPECT_EQ(waits[1], 2 * kJwksRetryMin.count());
  EXPECT_EQ(waits[5], 32 * kJwksRetryMin.count());
  for (size_t i = 6; i < waits.size(); ++i) EXPECT_EQ(waits[i], kJwksRetryMax.count()) << i;
  ASSERT_TRUE(cache.begin_fetch(now));
  cache.fetched(some_keys(), Millis(0), now);
  now = cache.next_deadline();
  ASSERT_TRUE(cache.begin_fetch(now));
  cache.failed(now);
  EXPECT_EQ(cache.next_deadline(), now + kJwksRetryMin) << "an answer ends the series";
}

TEST(JwksCache, ServesKnownKeysWhileTheIssuerIsAwayButNotForEver) {
  JwksCache cache = filled();
  for (Instant now = cache.next_deadline(); now < kStart + kJwksServedMax; now = cache.next_deadline()) {
    ASSERT_TRUE(cache.begin_fetch(now));
    cache.failed(now);
    EXPECT_NE(cache.keys(now), nullptr);
  }
  EXPECT_NE(cache.keys(kStart + kJwksServedMax - Millis(1)), nullptr);
  EXPECT_EQ(cache.keys(kStart + kJwksServedMax), nullptr);
  const Instant back = cache.next_deadline();
  ASSERT_TRUE(cache.begin_fetch(back));
  cache.fetched(some_keys(), std::nullopt, back);
  EXPECT_NE(cache.keys(back), nullptr);
}

TEST(JwksCache, KeysThatTheIssuerHasTakenBackAreGone) {
  JwksCache cache = filled();
  const auto held = cache.keys(kStart);
  const Instant later = cache.next_deadline();
  ASSERT_TRUE(cache.begin_fetch(later));
  cache.fetched(JwkSet{}, std::nullopt, later);
  ASSERT_NE(cache.keys(later), nullptr);
  EXPECT_TRUE(cache.keys(later)->keys.empty());
  EXPECT_EQ(held->keys.size(), 1u) << "who is verifying with the old ones still may";
}

TEST(MaxAge, IsReadFromCacheControl) {
  EXPECT_EQ(max_age_of("max-age=300"), Millis(300'000));
  EXPECT_EQ(max_age_of("public, Max-Age=21600, must-revalidate"), Millis(21'600'000));
  EXPECT_EQ(max_age_of("max-age=600,max-age=300"), Millis(300'000));
  EXPECT_EQ(max_age_of("max-age=300, no-cache"), Millis(0));
  EXPECT_EQ(max_age_of(" NO-STORE "), Millis(0));
  EXPECT_EQ(max_age_of("max-age=99999999999999999999999"), kJwksRefreshMax);
  for (const char* text :
       {"", "public", "s-maxage=5", "max-age", "max-age=", "max-age=-1", "max-age=5x", "max-age=\"5\"", ",,,"}) {
    EXPECT_EQ(max_age_of(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace coterie
