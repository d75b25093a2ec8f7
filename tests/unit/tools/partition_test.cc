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

DataSplit dirichlet(double alpha) { return {SplitKind::dirichlet, alpha}; }

std::vector<DataSplit> splits() {
  return {{},
          dirichlet(1e-6),
          dirichlet(0.01),
          dirichlet(0.1),
          dirichlet(0.3),
          dirichlet(1),
          dirichlet(30),
          dirichlet(1e6),
          {SplitKind::shards, 1},
          {SplitKind::shards, 2},
          {SplitKind::quantity, 0.01},
          {SplitKind::quantity, 1},
          {SplitKind::noise, 0.5},
          {SplitKind::rotate, 45},
          {SplitKind::turned, 2}};
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
  for (const DataSplit& split :
       {DataSplit{}, dirichlet(0.3), DataSplit{SplitKind::shards, 2}, DataSplit{SplitKind::quantity, 1}}) {
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
  const auto shards = partition(dirichlet(1e-6), examples(), labels(), 4, 3);
  ASSERT_OK(shards);
  for (const auto& [label, share] : largest_shares(*shards)) EXPECT_GE(share, label == 0 ? 0.3 : 0.8) << label;
}

TEST(Partition, GivesEveryDeviceTheSameOfEachClassWhereAlphaIsHuge) {
  const auto shards = partition(dirichlet(1e6), examples(), labels(), 4, 3);
  ASSERT_OK(shards);
  for (const auto& [label, share] : largest_shares(*shards)) EXPECT_LE(share, label == 0 ? 0.4 : 0.3) << label;
}

TEST(Partition, RefusesMoreDevicesThanThereAreExamplesFor) {
  EXPECT_OK(partition(dirichlet(0.1), examples(), labels(), 150, 1));
  EXPECT_ERROR(partition(dirichlet(0.1), examples(), labels(), 151, 1), ErrorCode::invalid_argument,
               "300 examples are too few for 151 devices: each needs at least 2");
  EXPECT_ERROR(partition({}, examples(), labels(), 0, 1), ErrorCode::invalid_argument, "at least one device");
}

std::set<int32_t> classes_of(const Indices& shard) {
  std::set<int32_t> classes;
  for (const uint32_t index : shard) classes.insert(labels()[index]);
  return classes;
}

TEST(Partition, GivesADeviceAboutAsManyClassesAsItHasPieces) {
  for (const size_t pieces : {1u, 2u, 3u}) {
    const auto shards = partition({SplitKind::shards, static_cast<double>(pieces)}, examples(), labels(), 10, 5);
    ASSERT_OK(shards);
    for (const Indices& shard : *shards) {
      EXPECT_LE(classes_of(shard).size(), 2 * pieces) << pieces;  // a piece may lie on a border
      EXPECT_NEAR(static_cast<double>(shard.size()), 30, 3);
    }
  }
}

TEST(Partition, GivesUnlikeAmountsOfTheSameWorldByQuantity) {
  const auto shards = partition({SplitKind::quantity, 0.5}, examples(), labels(), 6, 2);
  ASSERT_OK(shards);
  const auto [least, most] = std::ranges::minmax_element(*shards, {}, &Indices::size);
  EXPECT_GT(most->size(), 3 * least->size());
  EXPECT_GE(classes_of(*most).size(), 8u);
}

TEST(Partition, RefusesToSplitNumbersByClass) {
  EXPECT_ERROR(partition(dirichlet(0.3), examples(), {}, 4, 1), ErrorCode::invalid_argument, "the target is a number");
  EXPECT_ERROR(partition({SplitKind::shards, 2}, examples(), {}, 4, 1), ErrorCode::invalid_argument, "goes by classes");
  EXPECT_OK(partition({SplitKind::quantity, 1}, examples(), {}, 4, 1));
}

TEST(Groups, AreDevicesInTheOrderOfTheirValues) {
  const std::vector<std::string> values = {"b", "10", "b", "9", "10", "9", "a", "a"};
  const auto groups = partition_by_group({0, 1, 2, 3, 4, 5, 6, 7}, values, 0, 1);
  ASSERT_OK(groups);
  EXPECT_EQ(groups->names, (std::vector<std::string>{"9", "10", "a", "b"}));
  EXPECT_EQ(groups->shards, (std::vector<Indices>{{3, 5}, {1, 4}, {6, 7}, {0, 2}}));
}

TEST(Groups, AreDealtOutWholeToFewerDevices) {
  const std::vector<std::string> values = {"a", "b", "c", "a", "b", "c"};
  const auto groups = partition_by_group({0, 1, 2, 3, 4, 5}, values, 2, 1);
  ASSERT_OK(groups);
  ASSERT_EQ(groups->shards.size(), 2u);
  EXPECT_EQ(groups->shards[0].size(), 4u);
  EXPECT_EQ(groups->names[0], "2 groups");
  EXPECT_ERROR(partition_by_group({0, 1, 2, 3, 4, 5}, values, 4, 1), ErrorCode::invalid_argument,
               "4 devices are more than the column has values: 3");
  EXPECT_ERROR(partition_by_group({0, 1, 3}, values, 0, 1), ErrorCode::invalid_argument,
               "the device of group \"b\" would get 1 example, each device needs at least 2");
}

TEST(SplitFile, SaysOfEachExampleWhoHasIt) {
  const auto assignment = parse_assignment("2\r\n1\n-\nheld-out\n2\n1", 6);
  ASSERT_OK(assignment);
  EXPECT_EQ(assignment->count, 2u);
  EXPECT_TRUE(assignment->holds_out);
  const auto shards = partition_as_assigned(*assignment, {0, 1, 2, 3, 4, 5});
  ASSERT_OK(shards);
  EXPECT_EQ(*shards, (std::vector<Indices>{{1, 5}, {0, 4}}));
}

TEST(SplitFile, NamesTheLine) {
  EXPECT_ERROR(parse_assignment("1\n0\n", 2), ErrorCode::malformed, "line 2: expected a device counted from 1");
  EXPECT_ERROR(parse_assignment("1\nx\n", 2), ErrorCode::malformed, "held-out or -, is \"x\"");
  EXPECT_ERROR(parse_assignment("1\n\n", 2), ErrorCode::malformed, "line 2");
  EXPECT_ERROR(parse_assignment("1\n1\n", 3), ErrorCode::invalid_argument,
               "has 2 lines, expected one for each of the 3");
  EXPECT_ERROR(partition_as_assigned(*parse_assignment("1\n1\n3\n3\n", 4), {0, 1, 2, 3}), ErrorCode::invalid_argument,
               "device 2 would get 0 examples");
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
  for (const char* text : {"iid", "dirichlet:0.3", "dirichlet:1e-06", "dirichlet:1e+06", "dirichlet:100", "shards:2",
                           "quantity:0.5", "feature:noise", "feature:noise:0.1", "feature:rotate", "feature:rotate:20",
                           "labels:turned", "labels:turned:3", "group:hospital", "file:who.txt"}) {
    const auto split = parse_split(text);
    ASSERT_OK(split);
    EXPECT_EQ(to_string(*split), text);
  }
}

TEST(DataSplit, IsRefusedWithTheFormItShouldHave) {
  for (const char* text : {"",
                           "IID",
                           "iid:1",
                           "dirichlet",
                           "dirichlet:",
                           "dirichlet:0",
                           "dirichlet:-1",
                           "dirichlet:nan",
                           "dirichlet:inf",
                           "dirichlet:1000001",
                           "dirichlet:0.3x",
                           "dirichlet: 1",
                           "shards",
                           "shards:0",
                           "shards:1.5",
                           "shards:1001",
                           "quantity",
                           "quantity:0",
                           "feature",
                           "feature:blur",
                           "feature:noise:",
                           "feature:noise:101",
                           "feature:rotate:181",
                           "labels:turned:9",
                           "labels:turned:1.5",
                           "group:",
                           "file:"}) {
    EXPECT_ERROR(parse_split(text), ErrorCode::invalid_argument, "must be iid, dirichlet:ALPHA, shards:K") << text;
  }
}

}  // namespace
}  // namespace coterie
