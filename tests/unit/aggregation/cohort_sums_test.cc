#include "aggregation/accumulate/cohort_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <thread>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr uint64_t kLanes = 3;

Digest session(uint8_t number) {
  Digest name;
  name.bytes.fill(number);
  return name;
}

struct Sum {
  uint64_t updates = 0;
  std::vector<uint64_t> lanes;
  friend bool operator==(const Sum&, const Sum&) = default;
};

// By the first byte of their session's name.
std::map<int, Sum> read(const CohortSums& sums) {
  const CohortSumLayout layout{kLanes};
  std::map<int, Sum> all;
  const std::span<const uint64_t> lanes = sums.lanes();
  EXPECT_EQ(lanes.size() % layout.lanes(), 0u);
  for (size_t first = 0; first < lanes.size(); first += layout.lanes()) {
    Digest name;
    std::memcpy(name.bytes.data(), &lanes[first], sizeof name.bytes);
    EXPECT_EQ(name, session(name.bytes[0]));
    const auto sum = lanes.subspan(first + CohortSumLayout::lane_offset(0) / sizeof(uint64_t), kLanes);
    const Sum own{lanes[first + CohortSumLayout::kUpdatesLane], {sum.begin(), sum.end()}};
    EXPECT_TRUE(all.emplace(name.bytes[0], own).second) << "a session has one sum";
  }
  return all;
}

template <typename Lane>
void add(CohortSums& sums, uint8_t cohort, const std::vector<Lane>& lanes) {
  sums.merge_masked(std::span<const Lane>(lanes), session(cohort));
}

TEST(CohortSums, AreOneForEachSession) {
  CohortSums sums(kLanes);
  add<uint64_t>(sums, 7, {1, 2, ~uint64_t{0}});
  add<uint64_t>(sums, 3, {10, 20, 30});
  add<uint64_t>(sums, 7, {1, 1, 2});
  EXPECT_THAT(read(sums), ElementsAre(Pair(3, Sum{1, {10, 20, 30}}), Pair(7, Sum{2, {2, 3, 1}})));
  EXPECT_EQ(sums.lane_count(), 2 * CohortSumLayout{kLanes}.lanes());
  sums.clear();
  EXPECT_EQ(sums.lane_count(), 0u);
}

TEST(CohortSums, TakeNarrowLanesAsTheyAre) {
  CohortSums sums(kLanes);
  add<uint32_t>(sums, 1, {1, 2, 0xffffffff});
  add<uint16_t>(sums, 1, {1, 2, 3});
  EXPECT_THAT(read(sums), ElementsAre(Pair(1, Sum{2, {2, 4, 0x100000002}})));
}

TEST(CohortSums, OfSeveralBatchesAreAddedUpBySession) {
  CohortSums one(kLanes), other(kLanes);
  add<uint64_t>(one, 1, {1, 1, 1});
  add<uint64_t>(other, 2, {5, 5, 5});
  add<uint64_t>(other, 1, {2, 3, 4});
  one.merge(other.lanes());
  EXPECT_THAT(read(one), ElementsAre(Pair(1, Sum{2, {3, 4, 5}}), Pair(2, Sum{1, {5, 5, 5}})));
}

TEST(CohortSums, RefuseWhatIsInNoCohort) {
  CohortSums sums(kLanes);
  EXPECT_ERROR(sums.add(std::vector<float>(kLanes), 1, DeviceId()), ErrorCode::invalid_argument, "not masked");
  EXPECT_EQ(sums.lane_count(), 0u);
}

TEST(CohortSums, AreExactWithManyThreads) {
  CohortSums sums(kLanes);
  std::vector<std::thread> threads;
  for (uint8_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&sums, thread] {
      for (uint64_t i = 0; i < 100; ++i) add<uint64_t>(sums, static_cast<uint8_t>((thread + i) % 5), {i, 1, i * i});
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t updates = 0, first = 0, squares = 0;
  for (const auto& [name, sum] : read(sums)) {
    EXPECT_EQ(sum.lanes[1], sum.updates);
    updates += sum.updates;
    first += sum.lanes[0];
    squares += sum.lanes[2];
  }
  EXPECT_EQ(updates, 400u);
  EXPECT_EQ(first, 4u * 4950);
  EXPECT_EQ(squares, 4u * 328'350);
}

}  // namespace
}  // namespace coterie
