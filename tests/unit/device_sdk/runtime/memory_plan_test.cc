#include "device_sdk/runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace coterie {
namespace {

void expect_sound(const std::vector<Lifetime>& lives, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), lives.size());
  uint64_t end = 0, sum = 0;
  for (size_t i = 0; i < lives.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kBufferAlignment, 0u);
    end = std::max(end, plan.offsets[i] + lives[i].bytes);
    sum += (lives[i].bytes + 63) / 64 * 64;
    for (size_t j = 0; j < i; ++j) {
      if (lives[i].last < lives[j].first || lives[j].last < lives[i].first) continue;
      const bool apart =
          plan.offsets[i] + lives[i].bytes <= plan.offsets[j] || plan.offsets[j] + lives[j].bytes <= plan.offsets[i];
      EXPECT_TRUE(apart) << "buffers " << i << " and " << j << " overlap in space and time";
    }
  }
  EXPECT_LE(end, plan.bytes);
  EXPECT_LE(plan.lower_bound, plan.bytes);
  EXPECT_LE(plan.bytes, sum);
}

TEST(MemoryPlan, NeverOverlapsTwoLiveBuffersInRandomPrograms) {
  double worst = 1;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    const auto steps = static_cast<uint32_t>(1 + prng.below(60));
    std::vector<Lifetime> lives(1 + prng.below(80));
    for (Lifetime& life : lives) {
      life.first = static_cast<uint32_t>(prng.below(steps));
      life.last = static_cast<uint32_t>(life.first + prng.below(steps - life.first));
      life.bytes = prng.chance(0.2) ? 1 + prng.below(1 << 20) : 4 * (1 + prng.below(4096));
    }
    const MemoryPlan plan = plan_memory(lives);
    expect_sound(lives, plan);
    worst = std::max(worst, static_cast<double>(plan.bytes) / static_cast<double>(plan.lower_bound));
  }
  EXPECT_LT(worst, 1.12);
}

TEST(MemoryPlan, ReachesTheLowerBoundWhereBuffersSucceedEachOther) {
  const std::vector<Lifetime> lives = {{1000, 0, 1}, {1000, 2, 3}, {500, 4, 5}, {500, 4, 5}};
  const MemoryPlan plan = plan_memory(lives);
  expect_sound(lives, plan);
  EXPECT_EQ(plan.bytes, 1024u);
  EXPECT_EQ(plan.lower_bound, 1024u);
}

TEST(MemoryPlan, OfNothingIsNothing) {
  const MemoryPlan plan = plan_memory({});
  EXPECT_EQ(plan.bytes, 0u);
  EXPECT_EQ(plan.lower_bound, 0u);
}

TEST(MemoryPlan, IsTheSameEachTime) {
  Prng prng(1);
  std::vector<Lifetime> lives(50);
  for (Lifetime& life : lives) life = {1 + prng.below(3) * 100, static_cast<uint32_t>(prng.below(10)), 10};
  EXPECT_EQ(plan_memory(lives).offsets, plan_memory(lives).offsets);
}

}  // namespace
}  // namespace coterie
