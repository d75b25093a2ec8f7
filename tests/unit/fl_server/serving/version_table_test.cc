#include "fl_server/serving/version_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Digest digest(uint8_t byte) {
  Digest result;
  result.bytes.fill(byte);
  return result;
}

// A test's table, checked after each step.
struct VersionTableTest : testing::Test {
  std::vector<uint64_t> add(uint64_t number, uint8_t byte) {
    auto gone = table.add(number, digest(byte));
    table.check();
    EXPECT_TRUE(gone);
    return gone ? *gone : std::vector<uint64_t>{};
  }
  uint64_t means(std::string_view name) {
    const auto number = table.resolve(name);
    return number ? *number : 0;
  }
  VersionTable table{2};
};

TEST_F(VersionTableTest, NamesMeanNumbers) {
  EXPECT_FALSE(table.resolve(""));
  EXPECT_FALSE(table.resolve("latest"));
  add(3, 0x33);
  add(4, 0x44);
  EXPECT_EQ(means(""), 4u);
  EXPECT_EQ(means("latest"), 4u);
  EXPECT_EQ(means("3"), 3u);
  EXPECT_EQ(means(digest(0x33).hex()), 3u);
  EXPECT_EQ(table.resolve("promoted").error().code(), ErrorCode::not_found);
  for (const char* const name : {"5", "-3", "3 ", "03x", "Latest", "33", "\n"})
    EXPECT_FALSE(table.resolve(name)) << name;
}

TEST_F(VersionTableTest, WithoutANameThePromotedOneAnswers) {
  add(1, 0x11);
  add(2, 0x22);
  ASSERT_TRUE(table.promote(1));
  EXPECT_EQ(means(""), 1u);
  EXPECT_EQ(means("promoted"), 1u);
  EXPECT_EQ(means("latest"), 2u);
  ASSERT_TRUE(table.promote(std::nullopt));
  EXPECT_EQ(means(""), 2u);
  EXPECT_EQ(table.promote(9).error().code(), ErrorCode::not_found);
}

TEST_F(VersionTableTest, OldVersionsGoAndThePromotedOneStays) {
  add(1, 0x11);
  ASSERT_TRUE(table.promote(1));
  EXPECT_THAT(add(2, 0x22), IsEmpty());
  EXPECT_THAT(add(3, 0x33), IsEmpty());
  EXPECT_THAT(add(4, 0x44), ElementsAre(2));
  const auto gone = table.promote(4);
  table.check();
  ASSERT_TRUE(gone);
  EXPECT_THAT(*gone, ElementsAre(1));
  EXPECT_FALSE(table.resolve("1"));
}

TEST_F(VersionTableTest, AShareOfThoseWhoNameNoneGoesToTheLatest) {
  add(1, 0x11);
  add(2, 0x22);
  const auto share_of_latest = [&](uint32_t percent) {
    uint64_t latest = 0;
    for (uint64_t hash = 0; hash < 1000; ++hash) latest += *table.choose(hash, percent) == 2;
    return latest;
  };
  EXPECT_EQ(table.candidate(), std::nullopt) << "nothing is promoted, so the latest answers all";
  EXPECT_EQ(share_of_latest(0), 1000u);
  ASSERT_TRUE(table.promote(1));
  EXPECT_EQ(table.candidate(), 2u);
  EXPECT_EQ(share_of_latest(0), 0u);
  EXPECT_EQ(share_of_latest(7), 70u);
  EXPECT_EQ(share_of_latest(100), 1000u);
  ASSERT_TRUE(table.promote(2));
  EXPECT_EQ(table.candidate(), std::nullopt);
}

TEST_F(VersionTableTest, AnOldVersionComesBackIfItIsPromoted) {
  for (const uint64_t number : {1u, 2u, 3u}) add(number, static_cast<uint8_t>(number));
  EXPECT_THAT(add(1, 0x01), ElementsAre(1)) << "it is no more of use than it was";
  const auto gone = table.add(1, digest(0x01), Standing::promoted);
  table.check();
  ASSERT_TRUE(gone);
  EXPECT_THAT(*gone, IsEmpty());
  EXPECT_EQ(means(""), 1u);
  EXPECT_EQ(means("latest"), 3u);
}

TEST_F(VersionTableTest, AVersionNeverChanges) {
  add(1, 0x11);
  EXPECT_THAT(add(1, 0x11), IsEmpty());
  EXPECT_EQ(table.add(1, digest(0x12)).error().code(), ErrorCode::conflict);
  EXPECT_EQ(means(digest(0x11).hex()), 1u);
}

TEST_F(VersionTableTest, ARemovedVersionIsNotPromotedAnyMore) {
  add(1, 0x11);
  add(2, 0x22);
  ASSERT_TRUE(table.promote(1));
  EXPECT_TRUE(table.remove(1));
  table.check();
  EXPECT_FALSE(table.remove(1));
  EXPECT_EQ(table.promoted(), std::nullopt);
  EXPECT_EQ(table.resolve("").error().code(), ErrorCode::unavailable) << "nobody has released 2";
  EXPECT_EQ(means("latest"), 2u);
  ASSERT_TRUE(table.promote(std::nullopt));
  EXPECT_EQ(means(""), 2u);
  EXPECT_TRUE(table.remove(2));
  table.check();
  EXPECT_FALSE(table.resolve(""));
  EXPECT_FALSE(table.choose(1, 100));
}

TEST_F(VersionTableTest, ACandidateIsNotWhatApplicationsGet) {
  ASSERT_TRUE(table.add(2, digest(0x22), Standing::candidate));
  table.check();
  for (const char* const name : {"", "promoted"})
    EXPECT_EQ(table.resolve(name).error().code(), ErrorCode::unavailable) << "1 is promoted, and not here: " << name;
  EXPECT_EQ(table.choose(1, 100).error().code(), ErrorCode::unavailable);
  EXPECT_EQ(means("2"), 2u);
  ASSERT_TRUE(table.add(3, digest(0x33)));
  EXPECT_FALSE(table.resolve("")) << "it says nothing of what is promoted";
  ASSERT_TRUE(table.add(1, digest(0x11), Standing::promoted));
  table.check();
  EXPECT_EQ(means(""), 1u);
  table.withhold();
  EXPECT_EQ(means(""), 1u) << "it was promoted, and goes on";
}

TEST_F(VersionTableTest, SparesAreNeitherTheLatestNorPromoted) {
  add(1, 0x11);
  ASSERT_TRUE(table.promote(1));
  add(2, 0x22);
  add(3, 0x33);
  EXPECT_THAT(table.drop_spares(), ElementsAre(2));
  table.check();
  EXPECT_THAT(table.drop_spares(), IsEmpty());
  EXPECT_EQ(means("1"), 1u);
  EXPECT_EQ(means("3"), 3u);
}

}  // namespace
}  // namespace coterie
