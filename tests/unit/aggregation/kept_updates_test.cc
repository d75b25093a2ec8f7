#include "aggregation/accumulate/kept_updates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

const FixedPointSpec kSpec = FixedPointSpec::finest(4, 100, 1024);

DeviceId device(uint8_t number) {
  DeviceId id;
  id.bytes.fill(number);
  return id;
}

struct Kept {
  DeviceId device;
  uint64_t weight = 0;
  std::vector<float> values;
  friend auto operator<=>(const Kept&, const Kept&) = default;
};

std::vector<Kept> read(std::span<const uint64_t> lanes, uint64_t value_count) {
  const KeptLayout layout{value_count};
  EXPECT_EQ(lanes.size() % layout.lanes(), 0u);
  std::vector<Kept> all;
  for (size_t first = 0; first < lanes.size(); first += layout.lanes()) {
    Kept kept{{}, lanes[first + KeptLayout::kWeightLane], std::vector<float>(value_count)};
    std::memcpy(kept.device.bytes.data(), &lanes[first], sizeof kept.device);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&lanes[first]);
    std::memcpy(kept.values.data(), bytes + KeptLayout::value_offset(0), value_count * sizeof(float));
    all.push_back(kept);
  }
  std::ranges::sort(all);
  return all;
}

TEST(KeptUpdates, AreThereAsTheyCame) {
  for (const uint64_t count : {1u, 2u, 3u, 64u}) {
    KeptUpdates kept(count, kSpec);
    const std::vector<float> first(count, 0.1f), second(count, -4);
    ASSERT_OK(kept.add(first, 100, device(2)));
    ASSERT_OK(kept.add(second, 1, device(1)));
    EXPECT_EQ(read(kept.lanes(), count), (std::vector<Kept>{{device(1), 1, second}, {device(2), 100, first}}));
    EXPECT_EQ(kept.lane_count(), kept.lanes().size());
  }
}

TEST(KeptUpdates, AreWithoutOneThatThePlanDoesNotAllow) {
  KeptUpdates kept(3, kSpec);
  ASSERT_OK(kept.add(std::vector<float>{1, 2, 3}, 1, device(1)));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -4.5f}) {
    EXPECT_ERROR(kept.add(std::vector<float>{1, bad, 1}, 1, device(2)), ErrorCode::malformed, "value 1");
  }
  EXPECT_EQ(read(kept.lanes(), 3).size(), 1u);
}

TEST(KeptUpdates, AreAllThereWhenManyThreadsAddAtOnce) {
  constexpr uint64_t kCount = 1'001;
  KeptUpdates kept(kCount, kSpec);
  std::vector<std::thread> threads;
  for (uint8_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&kept, thread] {
      for (uint8_t i = 0; i < 10; ++i) {
        const auto number = static_cast<uint8_t>(thread * 10 + i);
        EXPECT_OK(kept.add(std::vector<float>(kCount, number / 100.0f), 1u + number, device(number)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<Kept> all = read(kept.lanes(), kCount);
  ASSERT_EQ(all.size(), 80u);
  for (uint8_t number = 0; number < 80; ++number) {
    EXPECT_EQ(all[number], (Kept{device(number), 1u + number, std::vector<float>(kCount, number / 100.0f)}));
  }
}

TEST(KeptUpdates, OfTwoBatchesStandOneBehindTheOther) {
  KeptUpdates one(2, kSpec), other(2, kSpec);
  ASSERT_OK(one.add(std::vector<float>{1, 2}, 1, device(3)));
  ASSERT_OK(other.add(std::vector<float>{3, 4}, 2, device(1)));
  one.merge(other.lanes());
  EXPECT_EQ(read(one.lanes(), 2), (std::vector<Kept>{{device(1), 2, {3, 4}}, {device(3), 1, {1, 2}}}));
  one.clear();
  EXPECT_EQ(one.lane_count(), 0u);
}

}  // namespace
}  // namespace coterie
