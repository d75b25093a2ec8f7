#include "secure/identity/replay_guard.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

const WallTime kStart = wall_time_from_unix_ms(1'750'000'000'000);
constexpr Millis kSkew{1'000};
const ShortHash kHash({1, 2, 3});

RequestClaims claims(uint64_t nonce, uint8_t device = 1) {
  RequestClaims claims{};
  claims.device.bytes.fill(device);
  std::memcpy(claims.nonce.data(), &nonce, sizeof nonce);
  return claims;
}

TEST(ReplayGuard, AdmitsANonceOnce) {
  ReplayGuard guard(kSkew, 100, kHash);
  EXPECT_OK(guard.admit(claims(1), kStart));
  EXPECT_ERROR(guard.admit(claims(1), kStart), ErrorCode::unauthenticated, "nonce was used before");
  EXPECT_OK(guard.admit(claims(2), kStart));
  EXPECT_OK(guard.admit(claims(1, 2), kStart)) << "nonces belong to their device";
}

// A device knows its id and chooses its nonces: once their first halves made one bucket of all of them.
TEST(ReplayGuard, HashesSoThatNobodyAimsAtABucket) {
  std::set<size_t> hashes;
  for (uint8_t device = 0; device < 16; ++device) {
    for (uint8_t tail = 0; tail < 64; ++tail) {
      RequestClaims request = claims(0, device);
      std::memcpy(request.nonce.data(), request.device.bytes.data(), 8);
      request.nonce[15] = tail;
      hashes.insert(ReplayGuard::Hash{kHash}({request.device, request.nonce}));
    }
  }
  EXPECT_EQ(hashes.size(), 16u * 64);
}

TEST(ReplayGuard, TellsNoncesApartByEveryByte) {
  ReplayGuard guard(kSkew, 100, kHash);
  for (size_t i = 0; i < 16; ++i) {
    RequestClaims request = claims(0);
    request.nonce[i] = 1;
    EXPECT_OK(guard.admit(request, kStart)) << "byte " << i;
    EXPECT_FALSE(guard.admit(request, kStart)) << "byte " << i;
  }
}

// A device's clock may be ahead by the skew: its request stays valid for twice the skew after it arrived.
TEST(ReplayGuard, RefusesAReplayForAsLongAsTheSignatureIsValid) {
  ReplayGuard guard(kSkew, 100, kHash);
  ASSERT_OK(guard.admit(claims(1), kStart));
  EXPECT_FALSE(guard.admit(claims(1), kStart + 2 * kSkew));
  ASSERT_OK(guard.admit(claims(2), kStart + 2 * kSkew));
  EXPECT_FALSE(guard.admit(claims(2), kStart + 4 * kSkew)) << "after the generations were rotated";
}

// Requests at random times by clocks that are off by up to the skew; replays at random times at which the signature
// would still verify. Not one gets through.
TEST(ReplayGuard, RefusesEveryReplayThatWouldVerify) {
  struct Seen {
    RequestClaims claims;
    WallTime signed_at;
  };
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Prng prng(seed);
    ReplayGuard guard(kSkew, 10'000, kHash);
    std::vector<Seen> seen;
    WallTime now = kStart;
    int replays = 0;
    for (uint64_t i = 0; i < 2'000; ++i) {
      now += Millis(static_cast<int64_t>(prng.below(40)));
      if (!seen.empty() && prng.chance(0.5)) {
        const Seen& old = seen[prng.below(seen.size())];
        const Millis age = now - old.signed_at;
        if (age > kSkew || age < -kSkew) continue;
        ++replays;
        ASSERT_FALSE(guard.admit(old.claims, now)) << "seed " << seed << ", step " << i;
      } else {
        const Millis skew(static_cast<int64_t>(prng.below(2'001)) - 1'000);
        seen.push_back({claims(i), now + skew});
        ASSERT_OK(guard.admit(seen.back().claims, now)) << "seed " << seed << ", step " << i;
      }
    }
    EXPECT_GT(replays, 10) << "seed " << seed;
  }
}

// Memory comes first: at least the last entries_max requests are remembered, and at most twice as many.
TEST(ReplayGuard, RemembersNoMoreThanTwoGenerations) {
  constexpr uint64_t kEntries = 10;
  ReplayGuard guard(kSkew, kEntries, kHash);
  for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(guard.admit(claims(i), kStart));
  for (uint64_t i = 99; i >= 100 - kEntries; --i) EXPECT_FALSE(guard.admit(claims(i), kStart)) << i;
  for (uint64_t i = 0; i < 100 - 2 * kEntries; ++i) EXPECT_OK(guard.admit(claims(i), kStart)) << "forgotten: " << i;
}

}  // namespace
}  // namespace coterie
