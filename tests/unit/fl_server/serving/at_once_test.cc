#include "fl_server/serving/at_once.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

constexpr Nanos us(int64_t count) { return std::chrono::microseconds(count); }

TEST(ComputeCost, IsUnknownUntilSomethingLikeItWasComputed) {
  ComputeCost cost;
  EXPECT_EQ(cost.expected(1), std::nullopt);
  cost.observe(1, us(10));
  EXPECT_EQ(cost.expected(1), us(10));
  EXPECT_EQ(cost.expected(3), us(40)) << "as if each of four rows cost as much alone";
  cost.observe(3, us(18));
  EXPECT_EQ(cost.expected(3), us(24)) << "they cost at most what four do";
  EXPECT_EQ(cost.expected(2), us(24));
  EXPECT_EQ(cost.expected(1), us(10));
  EXPECT_EQ(cost.expected(9), us(96));
  cost.observe(16, us(8));
  EXPECT_EQ(cost.expected(1), us(8)) << "whatever was said of one row";
}

TEST(ComputeCost, FollowsWhatIsSeen) {
  ComputeCost cost;
  cost.observe(1, us(5'000));  // the first time, all is cold
  for (int i = 0; i < 80; ++i) cost.observe(1, us(10));
  EXPECT_LT(*cost.expected(1), us(11));
  for (int i = 0; i < 80; ++i) cost.observe(1, us(300));
  EXPECT_GT(*cost.expected(1), us(290));
}

TEST(ComputeCost, AThreadThatLostItsCoreIsNoSlowModel) {
  ComputeCost cost;
  cost.observe(1, us(10));
  cost.observe(1, us(100'000));
  EXPECT_EQ(cost.expected(1), us(10) + us(10) / 8);
  for (int i = 0; i < 1'000; ++i) cost.observe(1, i % 5 == 0 ? us(100'000) : us(10));
  EXPECT_LT(*cost.expected(1), us(20)) << "one in five";
}

TEST(ComputeCost, IsNeverNothing) {
  ComputeCost cost;
  for (int i = 0; i < 100; ++i) cost.observe(1, Nanos(0));
  EXPECT_EQ(cost.expected(1), us(1));
  for (int i = 0; i < 100; ++i) cost.observe(1, us(50));
  EXPECT_GT(*cost.expected(1), us(40)) << "and grows again";
}

TEST(ComputeCost, TakesAnyNumberOfRows) {
  ComputeCost cost;
  cost.observe(1ull << 40, us(1));
  EXPECT_EQ(cost.expected(1ull << 40), std::nullopt);
  cost.observe(1, std::chrono::hours(1'000));
  EXPECT_EQ(cost.expected(32'768), std::chrono::hours(32'768));
  EXPECT_EQ(cost.expected(32'769), std::nullopt);
}

TEST(SocketPass, HasSoMuchAndNoMore) {
  SocketPass pass;
  EXPECT_TRUE(pass.has_room(us(200), us(200)));
  EXPECT_FALSE(pass.has_room(us(201), us(200)));
  EXPECT_FALSE(pass.has_room(us(1), us(0)));
  pass.spend(us(150));
  EXPECT_TRUE(pass.begins());
  EXPECT_TRUE(pass.has_room(us(50), us(200)));
  EXPECT_FALSE(pass.has_room(us(51), us(200)));
  pass.spend(us(4'000));  // more than was expected
  EXPECT_FALSE(pass.begins()) << "somebody is to end it already";
  EXPECT_FALSE(pass.has_room(us(1), us(200)));
  pass.end();
  EXPECT_TRUE(pass.has_room(us(200), us(200)));
  EXPECT_TRUE(pass.begins());
}

}  // namespace
}  // namespace coterie
