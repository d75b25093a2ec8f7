#include "secure/crypto/locked_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

#if defined(__has_feature)
#define COT_HAS_FEATURE(name) __has_feature(name)
#else
#define COT_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || COT_HAS_FEATURE(address_sanitizer) || \
    COT_HAS_FEATURE(thread_sanitizer)
constexpr bool kSanitized = true;  // they make mlock do nothing
#else
constexpr bool kSanitized = false;
#endif

bool always(std::span<uint8_t>) { return true; }

// As a system whose limit allows for two slabs.
int g_slabs_allowed = 0;
bool twice(std::span<uint8_t>) { return g_slabs_allowed-- > 0; }

bool is_zero(const uint8_t* slot, size_t bytes) {
  return std::all_of(slot, slot + bytes, [](uint8_t byte) { return byte == 0; });
}

TEST(LockedSlots, AreZerosThatDoNotOverlap) {
  LockedSlots slots(64, always);
  constexpr size_t kCount = 2 * kLockedSlabBytes / 64 + 1;
  std::set<uint8_t*> taken;
  for (size_t i = 0; i < kCount; ++i) taken.insert(slots.take());
  ASSERT_EQ(taken.size(), kCount);
  const uint8_t* before = nullptr;
  for (uint8_t* slot : taken) {
    EXPECT_TRUE(before == nullptr || slot - before >= 64);
    EXPECT_TRUE(is_zero(slot, 64));
    std::fill_n(slot, 64, uint8_t{0xff});
    before = slot;
  }
  EXPECT_EQ(slots.usage().slots_used, kCount);
  EXPECT_EQ(slots.usage().locked_bytes, 3 * kLockedSlabBytes);
  EXPECT_EQ(slots.usage().unlocked_bytes, 0u);
  for (uint8_t* slot : taken) slots.give_back(slot);
  EXPECT_EQ(slots.usage().slots_used, 0u);
}

TEST(LockedSlots, AreWipedAndUsedAgain) {
  LockedSlots slots(32, always);
  uint8_t* const first = slots.take();
  std::fill_n(first, 32, uint8_t{0xff});
  slots.give_back(first);
  EXPECT_TRUE(is_zero(first, 32));
  EXPECT_EQ(slots.take(), first);
  EXPECT_EQ(slots.usage().locked_bytes, kLockedSlabBytes);
}

TEST(LockedSlots, WorkUnlockedAndTellWhenTheSystemRefuses) {
  g_slabs_allowed = 2;
  LockedSlots slots(256, twice);
  for (size_t i = 0; i < 5 * kLockedSlabBytes / 256; ++i) *slots.take() = 1;
  EXPECT_EQ(slots.usage().locked_bytes, 2 * kLockedSlabBytes);
  EXPECT_EQ(slots.usage().unlocked_bytes, 3 * kLockedSlabBytes);
}

TEST(LockedSlots, CanBeTakenBySeveralThreads) {
  LockedSlots slots(32, always);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&slots, t] {
      Prng prng(t);
      std::vector<uint8_t*> mine;
      for (int i = 0; i < 2000; ++i) {
        if (mine.empty() || prng.chance(0.6)) {
          mine.push_back(slots.take());
          EXPECT_TRUE(is_zero(mine.back(), 32));
          std::fill_n(mine.back(), 32, static_cast<uint8_t>(t + 1));
        } else {
          EXPECT_TRUE(std::all_of(mine.back(), mine.back() + 32, [t](uint8_t byte) { return byte == t + 1; }));
          slots.give_back(mine.back());
          mine.pop_back();
        }
      }
      for (uint8_t* slot : mine) slots.give_back(slot);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(slots.usage().slots_used, 0u);
}

TEST(LockedMemory, HoldsAHundredThousandKeys) {
  constexpr size_t kKeys = 100'000;
  const LockedMemory before = locked_memory();
  std::vector<uint8_t*> keys(kKeys);
  for (uint8_t*& key : keys) key = take_locked(32);
  const LockedMemory full = locked_memory();
  EXPECT_EQ(full.slots_used, before.slots_used + kKeys);
  EXPECT_LE(full.locked_bytes + full.unlocked_bytes,
            before.locked_bytes + before.unlocked_bytes + kKeys * 32 + kLockedSlabBytes);
  for (uint8_t* key : keys) give_back_locked(key, 32);
  EXPECT_EQ(locked_memory().slots_used, before.slots_used);
}

TEST(LockedMemory, HasSlotsOfEverySizeUpToTheLargest) {
  for (size_t bytes = 1; bytes <= kLockedSlotBytesMax; bytes += bytes < 300 ? 1 : 263) {
    uint8_t* const slot = take_locked(bytes);
    uint8_t* const next = take_locked(bytes);
    EXPECT_GE(std::abs(next - slot), static_cast<ptrdiff_t>(bytes));
    std::fill_n(slot, bytes, uint8_t{0xff});
    EXPECT_TRUE(is_zero(next, bytes));
    give_back_locked(slot, bytes);
    give_back_locked(next, bytes);
  }
  const test::ThrowingAsserts throwing;
  EXPECT_THROW(take_locked(0), AssertionFailure);
  EXPECT_THROW(take_locked(kLockedSlotBytesMax + 1), AssertionFailure);
}

TEST(LockedBytes, HaveTheAskedSizeAndAreGivenBack) {
  const size_t before = locked_memory().slots_used;
  {
    LockedBytes bytes(kLockedSlotBytesMax), nothing(0);
    EXPECT_EQ(nothing.reveal().size(), 0u);
    ASSERT_EQ(bytes.reveal().size(), kLockedSlotBytesMax);
    EXPECT_TRUE(is_zero(bytes.reveal().data(), kLockedSlotBytesMax));
    bytes.mutable_bytes().back() = 1;
    LockedBytes moved = std::move(bytes);
    EXPECT_EQ(moved.reveal().back(), 1);
    nothing = std::move(moved);
    EXPECT_EQ(nothing.reveal().back(), 1);
    EXPECT_EQ(locked_memory().slots_used, before + 1);
  }
  EXPECT_EQ(locked_memory().slots_used, before);
}

// What the kernel says about the page: "dd" is left out of core dumps, "lo" locked.
TEST(LockedMemory, IsLeftOutOfCoreDumps) {
  uint8_t* const slot = take_locked(32);
  std::ifstream maps("/proc/self/smaps");
  std::string line, flags;
  bool here = false;
  while (std::getline(maps, line)) {
    unsigned long long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2) {
      here = begin <= reinterpret_cast<uintptr_t>(slot) && reinterpret_cast<uintptr_t>(slot) < end;
    } else if (here && line.starts_with("VmFlags:")) {
      flags = line + " ";
    }
  }
  EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;
  if (locked_memory().unlocked_bytes == 0 && !kSanitized) {
    EXPECT_NE(flags.find(" lo "), std::string::npos) << flags;
  }
  give_back_locked(slot, 32);
}

}  // namespace
}  // namespace coterie
