#include "tests/simulation/sessions/opened_sums.h"

#include <gtest/gtest.h>

namespace coterie::simulation {
namespace {

TEST(OpenedSums, TellWhoIsTheDifferenceOfTwo) {
  OpenedSums sums(4);
  sums.add({{0, 1, 2}});
  EXPECT_FALSE(sums.tells(0) || sums.tells(1) || sums.tells(2));
  sums.add({{0, 1}});
  EXPECT_TRUE(sums.tells(2));
  EXPECT_FALSE(sums.tells(0) || sums.tells(1) || sums.tells(3));
}

TEST(OpenedSums, TellWhoFollowsFromSeveral) {
  OpenedSums sums(3);  // a + b, b + c, a + c: half of all, less b + c, is a
  sums.add({{0, 1}});
  sums.add({{1, 2}});
  EXPECT_FALSE(sums.tells(0));
  sums.add({{0, 2}});
  EXPECT_TRUE(sums.tells(0) && sums.tells(1) && sums.tells(2));
}

TEST(OpenedSums, OfDisjointOrEqualSetsTellNobody) {
  OpenedSums sums(5);
  sums.add({{0, 1}});
  sums.add({{2, 3, 4}});
  sums.add({{0, 1}});
  sums.add({{0, 1, 2, 3, 4}});
  for (uint32_t device = 0; device < 5; ++device) EXPECT_FALSE(sums.tells(device));
  sums.add({{3}});
  EXPECT_TRUE(sums.tells(3));
  EXPECT_FALSE(sums.tells(2));
}

}  // namespace
}  // namespace coterie::simulation
