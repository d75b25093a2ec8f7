#include "aggregation/accumulate/ring_sum.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

#include "base/random.h"
#include "proto/ring/ring_vector.h"
#include "tests/support/matchers.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

const FixedPointSpec kSpec = FixedPointSpec::finest(4, 100, 1024);

std::vector<float> some_values(uint64_t seed, size_t count) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.uniform(-4, 4));
  return values;
}
uint32_t some_weight(uint64_t seed) { return static_cast<uint32_t>(1 + seed % 100); }

std::vector<uint64_t> serial_sum(uint64_t updates, size_t count) {
  std::vector<uint64_t> lanes(count);
  for (uint64_t seed = 1; seed <= updates; ++seed) {
    EXPECT_OK(add_update(some_values(seed, count), some_weight(seed), kSpec, lanes));
  }
  return lanes;
}

std::vector<uint64_t> lanes_of(const RingSum& sum) { return {sum.lanes().begin(), sum.lanes().end()}; }

TEST(RingSum, IsTheSerialSumForEverySize) {
  for (size_t count : {0, 1, 2, 31, 32, 33, 63, 64, 65, 100, 1'000, 4'097}) {
    RingSum sum(count, kSpec);
    EXPECT_EQ(sum.lane_count(), count);
    for (uint64_t seed = 1; seed <= 9; ++seed) EXPECT_OK(sum.add(some_values(seed, count), some_weight(seed)));
    EXPECT_EQ(lanes_of(sum), serial_sum(9, count)) << count;
  }
}

TEST(RingSum, IsTheSerialSumWhenManyThreadsAddAtOnce) {
  constexpr size_t kCount = 10'007, kThreads = 8, kEach = 25;
  RingSum sum(kCount, kSpec);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&sum, thread] {
      for (uint64_t seed = thread * kEach + 1; seed <= (thread + 1) * kEach; ++seed) {
        EXPECT_OK(sum.add(some_values(seed, kCount), some_weight(seed)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lanes_of(sum), serial_sum(kThreads * kEach, kCount));
}

TEST(RingSum, TakesAnUpdateWithOneBadValueBackWhereverItIs) {
  constexpr size_t kCount = 100;
  RingSum sum(kCount, kSpec);
  ASSERT_OK(sum.add(some_values(1, kCount), some_weight(1)));
  for (size_t at = 0; at < kCount; ++at) {
    for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 4.5f, -1e30f}) {
      std::vector<float> values = some_values(2, kCount);
      values[at] = bad;
      EXPECT_ERROR(sum.add(values, 3), ErrorCode::malformed, "") << at;
    }
  }
  EXPECT_EQ(lanes_of(sum), serial_sum(1, kCount));
}

TEST(RingSum, TakesBadUpdatesBackWhileOthersAdd) {
  constexpr size_t kCount = 4'999;
  constexpr uint64_t kGood = 60;
  RingSum sum(kCount, kSpec);
  std::vector<std::thread> threads;
  threads.emplace_back([&sum] {
    for (uint64_t seed = 1; seed <= kGood; ++seed) EXPECT_OK(sum.add(some_values(seed, kCount), some_weight(seed)));
  });
  for (uint64_t attacker = 1; attacker <= 3; ++attacker) {
    threads.emplace_back([&sum, attacker] {
      Prng prng(attacker);
      for (int i = 0; i < 60; ++i) {
        std::vector<float> values = some_values(1'000 + attacker, kCount);
        values[prng.below(kCount)] = std::numeric_limits<float>::quiet_NaN();
        EXPECT_ERROR(sum.add(values, 7), ErrorCode::malformed, "");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lanes_of(sum), serial_sum(kGood, kCount));
}

// The low bits of narrow lanes are the sum, whatever is carried above them.
template <typename Lane>
void expect_sums_of_lanes() {
  constexpr size_t kCount = 4'999;
  RingSum sum(kCount, kSpec);
  std::vector<Lane> expected(kCount);
  std::vector<std::vector<Lane>> updates(8, std::vector<Lane>(kCount));
  Prng prng(3);
  for (std::vector<Lane>& update : updates) {
    for (size_t i = 0; i < kCount; ++i) {
      update[i] = static_cast<Lane>(prng.next());
      expected[i] = static_cast<Lane>(expected[i] + update[i]);
    }
  }
  std::vector<std::thread> threads;
  for (const std::vector<Lane>& update : updates) {
    threads.emplace_back([&sum, &update] { sum.merge(std::span<const Lane>(update)); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(static_cast<Lane>(sum.lanes()[i]), expected[i]) << i;
}

TEST(RingSum, TakesLanesOfAnyWidth) {
  expect_sums_of_lanes<uint16_t>();
  expect_sums_of_lanes<uint32_t>();
  expect_sums_of_lanes<uint64_t>();
}

// How updates are shared out to accumulators changes nothing.
TEST(RingSum, OfAllIsTheMergeOfPartialSums) {
  RingSum all(100, kSpec), left(100, kSpec), right(100, kSpec);
  for (uint64_t seed = 1; seed <= 9; ++seed) {
    for (RingSum* sum : {&all, seed % 3 == 0 ? &left : &right}) {
      ASSERT_OK(sum->add(some_values(seed, 100), some_weight(seed)));
    }
  }
  left.merge(right.lanes());
  EXPECT_EQ(lanes_of(left), lanes_of(all));
}

TEST(RingSum, BeginsAnewAfterItWasCleared) {
  RingSum sum(50, kSpec);
  ASSERT_OK(sum.add(some_values(7, 50), 5));
  sum.clear();
  EXPECT_EQ(lanes_of(sum), std::vector<uint64_t>(50));
  ASSERT_OK(sum.add(some_values(1, 50), some_weight(1)));
  EXPECT_EQ(lanes_of(sum), serial_sum(1, 50));
}

TEST(RingSum, TakesNoUpdateOfAnotherSize) {
  RingSum sum(50, kSpec);
  const test::ThrowingAsserts throwing;
  EXPECT_THROW((void)sum.add(some_values(1, 49), 1), AssertionFailure);
}

}  // namespace
}  // namespace coterie
