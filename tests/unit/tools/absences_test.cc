#include "tools/demo/absences.h"

#include <gtest/gtest.h>

#include <set>

namespace coterie {
namespace {

constexpr Millis kLength{100};

TEST(Absences, EachDeviceVanishesInTheShareOfRoundsThatWasAskedFor) {
  Absences absences(20, 0.1, 7);
  std::set<uint32_t> away;
  Instant now{Millis(1)};
  int left = 0;
  std::vector<int> moments(5);
  for (int round = 0; round < 1'000; ++round) {
    absences.begin_round(now, kLength);
    for (int tick = 0; tick <= 100; ++tick, now += Millis(1)) {
      const Absences::Moves moves = absences.step(now);
      for (const uint32_t device : moves.come_back) EXPECT_EQ(away.erase(device), 1u);
      for (const uint32_t device : moves.leave) {
        EXPECT_TRUE(away.insert(device).second);
        ++moments[std::min(4, tick / 20)];
      }
      left += static_cast<int>(moves.leave.size());
    }
  }
  EXPECT_NEAR(left, 2'000, 150);  // 20 * 0.1 * 1000, standard deviation 42
  for (const int count : moments) EXPECT_NEAR(count, 400, 80) << "at any moment alike";
}

TEST(Absences, LastUntilTheRoundIsOver) {
  Absences absences(5, 1, 7);
  Instant now{Millis(1)};
  absences.begin_round(now, kLength);
  EXPECT_EQ(absences.step(now + kLength).leave.size(), 5u);
  now += kLength + Millis(200);
  EXPECT_TRUE(absences.step(now).come_back.empty());
  absences.end_round(now);
  EXPECT_EQ(absences.step(now).come_back.size(), 5u);
  EXPECT_TRUE(absences.step(now + Absences::absence_max).come_back.empty()) << "they are back";
}

TEST(Absences, EndByThemselvesWhereTheRoundWaitsForThem) {
  Absences absences(5, 1, 7);
  const Instant begin{Millis(1)}, left = begin + kLength;
  absences.begin_round(begin, kLength);
  ASSERT_EQ(absences.step(left).leave.size(), 5u);
  EXPECT_TRUE(absences.step(left + Absences::absence_max - Millis(1)).come_back.empty());
  EXPECT_EQ(absences.step(left + Absences::absence_max).come_back.size(), 5u);
}

TEST(Absences, ThatDidNotBeginInTheirRoundDoNotBegin) {
  Absences absences(5, 1, 7);
  const Instant begin{Millis(1)};
  absences.begin_round(begin, Millis(1'000'000));
  absences.end_round(begin + Millis(10));
  EXPECT_TRUE(absences.step(begin + Millis(2'000'000)).leave.empty());
}

}  // namespace
}  // namespace coterie
