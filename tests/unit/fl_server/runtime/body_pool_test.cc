#include "fl_server/runtime/body_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/random.h"

namespace coterie {
namespace {

constexpr size_t kMega = size_t{1} << 20;
// Larger than any allocator keeps: freed, its pages are gone, and new ones are zero.
constexpr size_t kLarge = 48 * kMega;

// Leaves a mark in a body, far enough from its ends that no allocator writes there.
void mark(const BodyPool::Body& body) { body.bytes[body.bytes.size() / 2] = 0xAB; }
bool is_marked(const BodyPool::Body& body) { return body.bytes[body.bytes.size() / 2] == 0xAB; }

TEST(BodyPool, GivesAlignedMemoryOfExactlyTheSizeThatIsAskedFor) {
  BodyPool pool(kMega);
  for (size_t size : {0, 1, 63, 64, 65, 4095, 4096, 4097, 1'000'003}) {
    const BodyPool::Body body = *pool.acquire(size);
    ASSERT_EQ(body.bytes.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(body.bytes.data()) % 64, 0u) << size;
    std::fill(body.bytes.begin(), body.bytes.end(), 0xff);
  }
}

TEST(BodyPool, SaysOverloadedWhereThereIsNoMemory) {
  static bool has_memory = false;
  BodyPool pool(kLarge, [](size_t bytes) { return has_memory ? std::aligned_alloc(64, bytes) : nullptr; });
  const auto none = pool.acquire(kMega);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::overloaded);
  has_memory = true;
  mark(*pool.acquire(kLarge));
  has_memory = false;
  EXPECT_FALSE(pool.acquire(kMega)) << "what lay idle was given up for it";
  has_memory = true;
  EXPECT_FALSE(is_marked(*pool.acquire(kLarge)));
}

TEST(BodyPool, FreesWhatLiesIdleWhenItIsToldTo) {
  BodyPool pool(kLarge);
  mark(*pool.acquire(kLarge));
  pool.free_idle();
  EXPECT_FALSE(is_marked(*pool.acquire(kLarge)));
}

TEST(BodyPool, GivesWhatCameBackAgain) {
  BodyPool pool(10 * kLarge);
  {
    BodyPool::Body body = *pool.acquire(kLarge);
    mark(body);
  }
  const BodyPool::Body again = *pool.acquire(kLarge);
  EXPECT_TRUE(is_marked(again)) << "these pages are there already";
  EXPECT_FALSE(is_marked(*pool.acquire(kLarge))) << "and cannot be given twice";
}

TEST(BodyPool, KeepsNoMoreIdleThanItMay) {
  for (const auto& [limit, kept] : {std::pair(2 * kLarge, 2), std::pair(2 * kLarge - 1, 1), std::pair(kLarge - 1, 0)}) {
    BodyPool pool(limit);
    {
      std::vector<BodyPool::Body> bodies;
      for (int i = 0; i < 3; ++i) mark(bodies.emplace_back(*pool.acquire(kLarge)));
    }
    std::vector<BodyPool::Body> bodies;
    int marked = 0;
    for (int i = 0; i < 3; ++i) marked += is_marked(bodies.emplace_back(*pool.acquire(kLarge))) ? 1 : 0;
    EXPECT_EQ(marked, kept) << limit;
  }
}

TEST(BodyPool, KeepsRoomAgainOnceSomethingWasTaken) {
  BodyPool pool(kLarge);
  for (int i = 0; i < 5; ++i) {
    BodyPool::Body body = *pool.acquire(kLarge);
    EXPECT_EQ(is_marked(body), i > 0) << i;
    mark(body);
  }
}

TEST(BodyPool, DoesNotGiveAHugeBlockForASmallBody) {
  BodyPool pool(10 * kLarge);
  void* huge = nullptr;
  {
    BodyPool::Body body = *pool.acquire(kLarge);
    huge = body.bytes.data();
    mark(body);
  }
  const BodyPool::Body small = *pool.acquire(100);
  EXPECT_NE(small.bytes.data(), huge);
  const BodyPool::Body larger = *pool.acquire(kLarge + 4096);
  EXPECT_NE(larger.bytes.data(), huge) << "and none that is too small";
  const BodyPool::Body half = *pool.acquire(kLarge / 2);
  EXPECT_EQ(half.bytes.data(), huge) << "but one that is at most twice as large";
  EXPECT_EQ(half.bytes.size(), kLarge / 2);
}

TEST(BodyPool, MayEndBeforeItsBodies) {
  BodyPool::Body body;
  {
    BodyPool pool(kMega);
    body = *pool.acquire(1'000);
  }
  std::fill(body.bytes.begin(), body.bytes.end(), 7);
  EXPECT_EQ(body.bytes[999], 7);
}

TEST(BodyPool, NeverGivesTheSameMemoryToTwo) {
  BodyPool pool(kMega);
  std::vector<std::thread> threads;
  for (uint8_t thread = 1; thread <= 8; ++thread) {
    threads.emplace_back([&pool, thread] {
      Prng prng(thread);
      std::vector<BodyPool::Body> bodies;
      for (int i = 0; i < 500; ++i) {
        if (bodies.size() < 5) {
          BodyPool::Body& body = bodies.emplace_back(*pool.acquire(1 + prng.below(20'000)));
          std::fill(body.bytes.begin(), body.bytes.end(), thread);
          continue;
        }
        const size_t chosen = prng.below(bodies.size());
        const auto& bytes = bodies[chosen].bytes;
        EXPECT_EQ(std::count(bytes.begin(), bytes.end(), thread), static_cast<ptrdiff_t>(bytes.size()));
        bodies.erase(bodies.begin() + static_cast<ptrdiff_t>(chosen));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace coterie
