#include "tools/demo/chart_scale.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace coterie {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ChartScale, MapsValuesToPlacesInEitherDirection) {
  const Scale up = {.low = 0, .high = 10, .from = 100, .to = 0};
  EXPECT_DOUBLE_EQ(up.at(0), 100);
  EXPECT_DOUBLE_EQ(up.at(10), 0);
  EXPECT_DOUBLE_EQ(up.at(2.5), 75);
}

TEST(ChartScale, PutsMarksAtRoundNumbers) {
  EXPECT_THAT(round_ticks(0, 100, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(round_ticks(0, 40, 8), ElementsAre(0, 5, 10, 15, 20, 25, 30, 35, 40));
  EXPECT_THAT(round_ticks(0, 2.4, 5), ElementsAre(0, 0.5, 1, 1.5, 2));
  EXPECT_THAT(round_ticks(0, 0.003, 3),
              ElementsAre(0, DoubleNear(0.001, 1e-12), DoubleNear(0.002, 1e-12), DoubleNear(0.003, 1e-12)));
  EXPECT_THAT(round_ticks(7, 7, 5), ElementsAre(7));
  EXPECT_THAT(round_ticks(0, kInfinity, 5), ElementsAre(0));
}

TEST(ChartScale, NeverBeginsAtMinusNought) {
  EXPECT_FALSE(std::signbit(round_ticks(0, 100, 5).front()));
  EXPECT_EQ(tick_text(round_ticks(0, 1, 5).front(), 0.2), "0.0");
}

TEST(ChartScale, RoundsTheTopUpToAMark) {
  EXPECT_DOUBLE_EQ(round_up_to_tick(2.4, 5), 2.5);
  EXPECT_DOUBLE_EQ(round_up_to_tick(2.5, 5), 2.5);
  EXPECT_DOUBLE_EQ(round_up_to_tick(100, 5), 100);
  for (const double nothing : {0.0, -1.0, kInfinity, std::nan("")}) EXPECT_DOUBLE_EQ(round_up_to_tick(nothing, 5), 1);
}

TEST(ChartScale, WritesAsManyDecimalsAsTheStepNeeds) {
  EXPECT_EQ(tick_text(0.25, 0.25), "0.25");
  EXPECT_EQ(tick_text(0.5, 0.1), "0.5");
  EXPECT_EQ(tick_text(10, 5), "10");
}

TEST(ChartScale, MovesLabelsApartAndKeepsThemInside) {
  EXPECT_THAT(spread({10, 50}, 17, 0, 100), ElementsAre(10, 50));
  EXPECT_THAT(spread({50, 45}, 10, 0, 100), ElementsAre(55, 45));
  EXPECT_THAT(spread({98, 99}, 17, 0, 100), ElementsAre(83, 100));
  EXPECT_THAT(spread({-5, 0}, 17, 0, 100), ElementsAre(0, 17));
  EXPECT_THAT(spread({}, 17, 0, 100), ElementsAre());
}

}  // namespace
}  // namespace coterie
