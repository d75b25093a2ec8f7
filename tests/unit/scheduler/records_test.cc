#include "scheduler/job/records.h"

#include <gtest/gtest.h>

#include <set>

namespace coterie {
namespace {

TEST(Records, NameEveryState) {
  std::set<std::string_view> names;
  for (int i = 1; i <= 5; ++i) EXPECT_TRUE(names.insert(to_string(static_cast<JobState>(i))).second);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(to_string(static_cast<JobState>(6)), "unknown");
  names.clear();
  for (int i = 1; i <= 6; ++i) EXPECT_TRUE(names.insert(to_string(static_cast<RoundState>(i))).second);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(to_string(static_cast<RoundState>(7)), "unknown");
}

TEST(RoundTotals, AddUpFieldByField) {
  RoundTotals sum{1, 10, 100, 0.5, 60, 1'000};
  sum += RoundTotals{2, 20, 200, 0.25, 70, 2'000};
  EXPECT_EQ(sum, (RoundTotals{3, 30, 300, 0.75, 130, 3'000}));
}

}  // namespace
}  // namespace coterie
