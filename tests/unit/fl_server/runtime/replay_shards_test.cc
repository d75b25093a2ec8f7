#include "fl_server/runtime/replay_shards.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

const WallTime kNow = wall_time_from_unix_ms(1'750'000'000'000);

RequestClaims claims(uint64_t nonce) {
  RequestClaims claims{};
  std::memcpy(claims.nonce.data(), &nonce, sizeof nonce);
  return claims;
}

TEST(ReplayShards, AdmitEachRequestOnceWhoeverElseAsks) {
  constexpr uint64_t kRequests = 2'000;
  ReplayShards shards(Millis(1'000), 100'000);
  std::atomic<uint64_t> admitted{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (uint64_t nonce = 0; nonce < kRequests; ++nonce) admitted += shards.admit(claims(nonce), kNow) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, kRequests);
  EXPECT_ERROR(shards.admit(claims(7), kNow), ErrorCode::unauthenticated, "nonce was used before");
}

TEST(ReplayShards, RememberSoManyTogether) {
  ReplayShards shards(Millis(1'000), 1'600);
  for (uint64_t nonce = 0; nonce < 100'000; ++nonce) ASSERT_OK(shards.admit(claims(nonce), kNow));
  EXPECT_OK(shards.admit(claims(0), kNow)) << "long forgotten";
  EXPECT_FALSE(shards.admit(claims(99'999), kNow));
}

}  // namespace
}  // namespace coterie
