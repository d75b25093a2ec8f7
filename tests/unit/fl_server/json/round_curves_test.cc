// Rounds by column, and the same with fewer points: no peak is lost, and gaps stay gaps.
#include "fl_server/json/round_curves.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

namespace coterie {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

RoundCurves curves_of(const std::vector<double>& values) {
  RoundCurves curves;
  for (size_t i = 0; i < values.size(); ++i) {
    curves.add_round(i + 1);
    curves.set("y", values[i]);
  }
  return curves;
}

TEST(RoundCurves, KeepTheLeastAndTheGreatestOfEachStretchInTheirOrder) {
  const RoundCurves thin = curves_of({5, 1, 9, 2, /**/ 3, 8, 0, 4, /**/ 7}).thinned(5);
  EXPECT_THAT(thin.rounds(), ElementsAre(1, 4, 5, 8, 9));
  EXPECT_THAT(thin.columns().at("y"), ElementsAre(1, 9, 8, 0, 7)) << "and the newest as it is";
}

TEST(RoundCurves, AreLeftAloneWhereThereIsRoomForAll) {
  for (const size_t points : {4, 5, 100'000})
    EXPECT_THAT(curves_of({5, 1, 9, 2}).thinned(points).columns().at("y"), ElementsAre(5, 1, 9, 2)) << points;
  EXPECT_TRUE(RoundCurves().thinned(3).rounds().empty());
}

TEST(RoundCurves, HaveThreePointsAtTheLeast) {
  for (const size_t points : {0, 1, 2, 3, 4}) {
    const RoundCurves thin = curves_of({1, 2, 3, 9, 0, 5}).thinned(points);
    EXPECT_THAT(thin.rounds(), ElementsAre(1, 5, 6)) << points;
    EXPECT_THAT(thin.columns().at("y"), ElementsAre(9, 0, 5)) << points;
  }
}

TEST(RoundCurves, HaveGapsWhereNothingIsKnownOrFinite) {
  RoundCurves curves = curves_of({kNan, std::numeric_limits<double>::infinity(), 3, 4, kNan, kNan, 7, 8, 9});
  curves.add_round(10);
  const json all = to_json(curves, 10);
  EXPECT_EQ(all["exact"], true);
  EXPECT_EQ(all["columns"]["y"], json::parse("[null, null, 3, 4, null, null, 7, 8, 9, null]"));
  const json thin = to_json(curves, 7);
  EXPECT_EQ(thin["exact"], false);
  EXPECT_EQ(thin["rounds"], 10);
  EXPECT_EQ(thin["round"], json::parse("[1, 3, 4, 6, 7, 9, 10]"));
  EXPECT_EQ(thin["columns"]["y"], json::parse("[3, 3, 4, 4, 7, 9, null]")) << "a stretch without values has none";
  EXPECT_EQ(to_json(curves_of({kNan, kNan}), 3)["columns"], json::object());
}

TEST(RoundCurves, AreExactToTheLastDigitOrSingle) {
  const json exact = to_json(curves_of({0.1 + 0.2, 3, 1e300, -7}), 4),
             thin = to_json(curves_of({0.1 + 0.2, 3, 1e300, -7}), 3);
  EXPECT_EQ(exact["columns"]["y"].dump(), "[0.30000000000000004,3,1e+300,-7]");
  EXPECT_EQ(thin["columns"]["y"].dump(), "[0.3,1e+300,-7]") << "what no float32 can be stays as it is";
}

TEST(RoundCurves, SayWhatAllRoundsHadTogetherWhateverThePointsAre) {
  RoundCurves curves;
  for (uint64_t round = 1; round <= 50; ++round) {
    curves.add_round(round);
    curves.set("accepted", 3);
    if (round % 2 == 0) curves.set("seconds", 0.5);
    curves.set("train_loss", 1);
  }
  for (const size_t points : {3, 50})
    EXPECT_EQ(to_json(curves, points)["sums"], json({{"accepted", 150}, {"seconds", 12.5}}));
  EXPECT_EQ(to_json(RoundCurves(), 3)["sums"], json::object());
}

TEST(RoundCurves, MayComeNewestFirst) {
  RoundCurves curves;
  for (const uint64_t round : {3, 2, 1}) {
    curves.add_round(round);
    if (round == 2) curves.set("y", 5);
  }
  curves.reverse();
  const json told = to_json(curves, 3);
  EXPECT_EQ(told["round"], json::parse("[1, 2, 3]"));
  EXPECT_EQ(told["columns"]["y"], json::parse("[null, 5, null]"));
}

TEST(RoundCurves, LoseNoPeakWhateverThePointsAre) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> values(1 + random() % 500);
    for (double& value : values) value = random() % 4 == 0 ? kNan : static_cast<double>(random() % 1000);
    const size_t points = 3 + random() % 60;
    const RoundCurves curves = curves_of(values), thin = curves.thinned(points);
    ASSERT_LE(thin.rounds().size(), std::max<size_t>(points, 3));
    ASSERT_TRUE(std::ranges::is_sorted(thin.rounds(), std::ranges::less_equal())) << "no round twice";
    ASSERT_EQ(thin.rounds().front(), 1u);
    ASSERT_EQ(thin.rounds().back(), values.size());
    if (!curves.columns().contains("y")) continue;
    const auto finite = [](const std::vector<double>& of) {
      std::vector<double> found;
      std::ranges::copy_if(of, std::back_inserter(found), [](double value) { return std::isfinite(value); });
      return found;
    };
    const std::vector<double> kept = finite(thin.columns().at("y")), all = finite(values);
    ASSERT_EQ(std::ranges::max(kept), std::ranges::max(all)) << "trial " << trial;
    ASSERT_EQ(std::ranges::min(kept), std::ranges::min(all)) << "trial " << trial;
  }
}

}  // namespace
}  // namespace coterie
