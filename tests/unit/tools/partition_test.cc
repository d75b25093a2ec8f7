#include "tools/data/partition.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

constexpr uint32_t kExamples = 600;

// Ten classes, unevenly: of class 0 there are few.
std::vector<int32_t> labels() {
  std::vector<int32_t> labels;
  for (uint32_t i = 0; i < kExamples; ++i) labels.push_back(i < 12 ? 0 : static_cast<int32_t>(1 + i % 9));
  return labels;
}

// Every second index: what a part of the data looks like.
Indices examples() {
  Indices chosen;
  for (uint32_t i = 0; i < kExamples; i += 2) chosen.push_back(i);
  return chosen;
}

std::vector<DataSplit> splits() {
  return {{}, {false, 1e-6}, {false, 0.01}, {false, 0.1}, {false, 0.3}, {false, 1}, {false, 30}, {false, 1e6}};
}

TEST(Partition, GivesEveryExampleToExactlyOneDeviceAndEveryDeviceEnough) {
  for (const DataSplit& split : splits()) {
    for (const uint32_t devices : {1u, 2u, 7u, 50u, 150u}) {
      for (const uint64_t seed : {0u, 1u, 2u, 99u}) {
        SCOPED_TRACE(to_string(split) + " " + std::to_string(devices) + " devices, seed " + std::to_string(seed));
        const auto shards = partition(split, examples(), labels(), devices, seed);
        ASSERT_OK(shards);
        ASSERT_EQ(shards->size(), devices);
        Indices all;
        for (const Indices& shard : *shards) {
          EXPECT_GE(shard.size(), kShardExamplesMin);
          all.insert(all.end(), shard.begin(), shard.end());
        }
        std::ranges::sort(all);
        EXPECT_EQ(all, examples());
      }
    }
  }
}

TEST(Partition, IsTheSameForTheSameSeedAndAnotherForAnother) {
  for (const DataSplit& split : {DataSplit{}, DataSplit{false, 0.3}}) {
    const auto first = partition(split, examples(), labels(), 20, 7);
    ASSERT_OK(first);
    EXPECT_EQ(*partition(split, examples(), labels(), 20, 7), *first);
    EXPECT_NE(*partition(split, examples(), labels(), 20, 8), *first);
  }
}

TEST(Partition, DealsEvenlyWhereItIsIid) {
  const auto shards = partition({}, examples(), labels(), 7, 1);
  ASSERT_OK(shards);
  for (const Indices& shard : *shards) EXPECT_NEAR(static_cast<double>(shard.size()), 300.0 / 7, 1);
}

// For each class, the part of it that the device with the most of it has.
std::map<int32_t, double> largest_shares(const std::vector<Indices>& shards) {
  std::map<int32_t, double> most, total;
  for (const Indices& shard : shards) {
    std::map<int32_t, double> here;
    for (const uint32_t index : shard) ++here[labels()[index]];
    for (const auto& [label, count] : here) {
      most[label] = std::max(most[label], count);
      total[label] += count;
    }
  }
  for (auto& [label, count] : most) count /= total[label];
  return most;
}

TEST(Partition, GivesAClassToNearlyOneDeviceWhereAlphaIsTiny) {
  const auto shards = partition({false, 1e-6}, examples(), labels(), 4, 3);
  ASSERT_OK(shards);
  for (const auto& [label, share] : largest_shares(*shards)) EXPECT_GE(share, label == 0 ? 0.3 : 0.8) << label;
}

TEST(Partition, GivesEveryDeviceTheSameOfEachClassWhereAlphaIsHuge) {
  const auto shards = partition({false, 1e6}, examples(), labels(), 4, 3);
  ASSERT_OK(shards);
  for (const auto& [label, share] : largest_shares(*shards)) EXPECT_LE(share, label == 0 ? 0.4 : 0.3) << label;
}

TEST(Partition, RefusesMoreDevicesThanThereAreExamplesFor) {
  EXPECT_OK(partition({false, 0.1}, examples(), labels(), 150, 1));
  EXPECT_ERROR(partition({false, 0.1}, examples(), labels(), 151, 1), ErrorCode::invalid_argument,
               "300 examples are too few for 151 devices: each needs at least 2");
  EXPECT_ERROR(partition({}, examples(), labels(), 0, 1), ErrorCode::invalid_argument, "at least one device");
}

TEST(HoldOut, TakesItsPartOfEveryClassAndLosesNothing) {
  const HeldOut parts = hold_out(labels(), 0.25, 1);
  std::map<int32_t, int> held;
  for (const uint32_t index : parts.held_out) ++held[labels()[index]];
  EXPECT_EQ(held[0], 3);
  for (int32_t label = 1; label < 10; ++label) EXPECT_NEAR(held[label], 588.0 / 9 / 4, 1) << label;
  EXPECT_TRUE(std::ranges::is_sorted(parts.training));
  EXPECT_TRUE(std::ranges::is_sorted(parts.held_out));
  std::set<uint32_t> all(parts.training.begin(), parts.training.end());
  all.insert(parts.held_out.begin(), parts.held_out.end());
  EXPECT_EQ(all.size(), kExamples);
  EXPECT_EQ(parts.training.size() + parts.held_out.size(), kExamples);
}

TEST(HoldOut, DrawsBySeed) {
  EXPECT_EQ(hold_out(labels(), 0.2, 5).held_out, hold_out(labels(), 0.2, 5).held_out);
  EXPECT_NE(hold_out(labels(), 0.2, 5).held_out, hold_out(labels(), 0.2, 6).held_out);
}

TEST(DataSplit, IsReadAsItIsWritten) {
  for (const char* text : {"iid", "dirichlet:0.3", "dirichlet:1e-06", "dirichlet:1e+06", "dirichlet:100"}) {
    const auto split = parse_split(text);
    ASSERT_OK(split);
    EXPECT_EQ(to_string(*split), text);
  }
}

TEST(DataSplit, IsRefusedWithTheFormItShouldHave) {
  for (const char* text : {"", "IID", "iid:1", "dirichlet", "dirichlet:", "dirichlet:0", "dirichlet:-1",
                           "dirichlet:nan", "dirichlet:inf", "dirichlet:1000001", "dirichlet:0.3x", "dirichlet: 1"}) {
    EXPECT_ERROR(parse_split(text), ErrorCode::invalid_argument, "must be iid or dirichlet:ALPHA") << text;
  }
}

}  // namespace
}  // namespace coterie
