// What robust rules make of updates, against figures of a reference that shares no code with them (float64, NumPy), and
// against what must hold for any updates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "aggregation/robust/aggregation_settings.h"
#include "aggregation/robust/krum_scores.h"
#include "aggregation/robust/registry.h"
#include "base/random.h"

namespace coterie {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;
using Matrix = std::vector<std::vector<float>>;

// Eight honest points around 0 and three liars around 10.
const Matrix kPoints = {{1.691f, -0.466f, 0.033f}, {0.408f, -0.789f, 0.002f},  {-0.001f, -1.755f, 1.018f},
                        {0.6f, -0.625f, -0.172f},  {0.505f, -0.261f, -0.243f}, {-1.453f, 0.555f, 0.124f},
                        {0.274f, -1.527f, 1.651f}, {0.154f, -0.387f, 2.029f},  {9.955f, 8.549f, 9.595f},
                        {7.712f, 11.049f, 9.584f}, {9.257f, 11.072f, 8.349f}};

std::vector<std::span<const float>> rows_of(const Matrix& updates, size_t first, size_t count) {
  std::vector<std::span<const float>> rows;
  for (const auto& update : updates) rows.push_back(std::span(update).subspan(first, count));
  return rows;
}

UpdateDistances distances_of(const Matrix& updates, size_t tile) {
  UpdateDistances distances(updates.size());
  for (size_t first = 0; first < updates[0].size(); first += tile) {
    distances.add(first, rows_of(updates, first, std::min(tile, updates[0].size() - first)));
  }
  return distances;
}

// As the finalizer does it: distances first, then the result, both in tiles.
std::vector<float> result_of(const AggregationSettings& settings, const Matrix& updates, size_t tile = 1000,
                             std::vector<double> weights = {}) {
  weights.resize(updates.size(), 1);
  std::vector<double> shares;
  if (settings.rule->needs_distances()) {
    shares.resize(updates.size());
    settings.rule->choose(distances_of(updates, tile), weights, settings.values, shares);
  }
  std::vector<float> result(updates[0].size());
  for (size_t first = 0; first < result.size(); first += tile) {
    const size_t count = std::min(tile, result.size() - first);
    make_result(*settings.rule, {.rows = rows_of(updates, first, count),
                                 .shares = shares,
                                 .settings = settings.values,
                                 .result = std::span(result).subspan(first, count)});
  }
  return result;
}

AggregationSettings rule(const char* name) { return AggregationSettings::of(name); }

// Every rule with settings under which `updates` are enough.
std::vector<AggregationSettings> every_rule() {
  std::vector<AggregationSettings> all;
  for (const RobustRule* row : robust_rules()) all.push_back(rule(row->name));
  return all;
}

Matrix some_updates(uint64_t seed, size_t updates, size_t values) {
  Prng prng(seed);
  Matrix matrix(updates, std::vector<float>(values));
  for (auto& update : matrix) {
    for (float& value : update) value = static_cast<float>(prng.uniform(-1, 1));
  }
  return matrix;
}

testing::Matcher<std::vector<float>> near(float a, float b, float c) {
  return ElementsAre(FloatNear(a, 2e-6f), FloatNear(b, 2e-6f), FloatNear(c, 2e-6f));
}

TEST(Median, IsTheReferences) { EXPECT_THAT(result_of(rule("median"), kPoints), near(0.505f, -0.387f, 1.018f)); }

TEST(Median, OfAnEvenNumberLiesInTheMiddleOfTwo) {
  EXPECT_THAT(result_of(rule("median"), {{1, 0}, {9, 0}, {3, 0}, {5, -2}}), ElementsAre(4, 0));
}

TEST(TrimmedMean, IsTheReferences) {
  EXPECT_THAT(result_of(rule("trimmed_mean").with("liars_max", 3), kPoints), near(0.6956f, -0.2368f, 0.971f));
}

TEST(GeometricMedian, IsTheReferencesAfterThreeStepsAndAtTheEnd) {
  EXPECT_THAT(result_of(rule("geometric_median").with("iterations", 3), kPoints),
              near(0.69937306f, -0.26625923f, 0.89262203f));
  EXPECT_THAT(result_of(rule("geometric_median").with("iterations", 300), kPoints),
              near(0.65313112f, -0.37593116f, 0.62848895f));
}

TEST(GeometricMedian, AnUpdateOfWeightTwoIsTwoUpdates) {
  const Matrix once = {{0, 0}, {1, 0}, {0, 3}, {5, 5}};
  const Matrix twice = {{0, 0}, {1, 0}, {1, 0}, {0, 3}, {5, 5}};
  const auto weighted = result_of(rule("geometric_median"), once, 1000, {1, 2, 1, 1});
  EXPECT_THAT(weighted, Pointwise(testing::FloatEq(), result_of(rule("geometric_median"), twice)));
}

TEST(CentredClip, IsTheReferences) {
  EXPECT_THAT(result_of(rule("centred_clip"), kPoints), near(0.57738273f, -0.28158057f, 0.60449482f));
}

TEST(Krum, ScoresAndChoiceAreTheReferences) {
  const UpdateDistances distances = distances_of(kPoints, 2);
  const std::vector<double> reference = {22.132533, 11.942976, 18.205565,   13.895556,   15.975432,  40.605135,
                                         20.505079, 25.462951, 1015.897754, 1073.085688, 1089.108525};
  EXPECT_THAT(robust::krum_scores(distances, robust::all_of(distances), 3), Pointwise(DoubleNear(1e-4), reference));
  EXPECT_EQ(result_of(rule("krum").with("liars_max", 3), kPoints), kPoints[1]);
}

TEST(Krum, OfEqualScoresTheFirstIsTaken) {
  EXPECT_THAT(result_of(rule("krum"), {{1}, {1}, {1}, {-1}, {-1}, {-1}}), ElementsAre(1));
}

TEST(MultiKrum, IsTheReferences) {
  EXPECT_THAT(result_of(rule("multi_krum").with("liars_max", 3), kPoints), near(0.27225f, -0.656875f, 0.55525f));
}

// n 11 and f 2: seven are chosen, three of each coordinate stay. By hand from the points: the liars are never chosen.
TEST(Bulyan, StaysAmongTheHonest) {
  const auto result = result_of(rule("bulyan").with("liars_max", 2), kPoints);
  for (size_t i = 0; i < 3; ++i) {
    std::vector<float> honest;
    for (size_t row = 0; row < 8; ++row) honest.push_back(kPoints[row][i]);
    const auto [low, high] = std::ranges::minmax_element(honest);
    EXPECT_GE(result[i], *low);
    EXPECT_LE(result[i], *high);
  }
}

TEST(Bulyan, IsTheMeanOfTheValuesAroundTheMedian) {
  // f = 1, n = 7: all but two are chosen. The outliers 90 and -90 go by Krum; of 0, 1, 2, 3, 9 the three around 2 stay.
  EXPECT_THAT(result_of(rule("bulyan"), {{0}, {1}, {2}, {3}, {9}, {90}, {-90}}), ElementsAre(2));
}

// NumPy's and Flower's way, |x|^2 + |y|^2 - 2xy in float32, ranks this outlier best.
TEST(UpdateDistances, DoNotCancelWhereUpdatesHaveMuchInCommon) {
  constexpr size_t kValues = 20'000;
  Prng prng(3);
  std::vector<double> common(kValues);
  for (double& value : common) value = prng.uniform(-0.2, 0.2);
  Matrix updates(10, std::vector<float>(kValues));
  Matrix alone = updates;
  for (size_t row = 0; row < updates.size(); ++row) {
    const double scale = row == 9 ? 3e-5 : 1e-5;
    for (size_t i = 0; i < kValues; ++i) {
      updates[row][i] = static_cast<float>(common[i] + prng.uniform(-scale, scale));
      alone[row][i] = static_cast<float>(static_cast<double>(updates[row][i]) - common[i]);
    }
  }
  const UpdateDistances distances = distances_of(updates, 4096), exact = distances_of(alone, 4096);
  for (size_t row = 1; row < updates.size(); ++row) {
    EXPECT_NEAR(distances.squared(0, row) / exact.squared(0, row), 1, 1e-3);
  }
  const auto scores = robust::krum_scores(distances, robust::all_of(distances), 1);
  EXPECT_EQ(std::ranges::max_element(scores) - scores.begin(), 9);
}

TEST(UpdateDistances, ToAMixtureAreThoseToTheMixedUpdate) {
  const Matrix updates = some_updates(5, 6, 40);
  const UpdateDistances distances = distances_of(updates, 7);
  const std::vector<double> shares = {0.1, 0.4, 0, 0.05, 0.2, 0.05};  // 0.2 is 0's
  for (size_t row = 0; row < updates.size(); ++row) {
    double squared = 0;
    for (size_t i = 0; i < 40; ++i) {
      double mixed = 0;
      for (size_t j = 0; j < updates.size(); ++j) mixed += shares[j] * static_cast<double>(updates[j][i]);
      squared += std::pow(static_cast<double>(updates[row][i]) - mixed, 2);
    }
    EXPECT_NEAR(distances.squared_to_mixture(shares)[row], squared, 1e-12 * 40);
  }
}

TEST(RobustRules, GiveTheSameBitsInTilesOfAnySize) {
  const Matrix updates = some_updates(7, 9, 501);
  for (const AggregationSettings& settings : every_rule()) {
    const std::vector<float> whole = result_of(settings, updates, 501);
    for (const size_t tile : {1u, 3u, 8u, 64u, 500u})
      EXPECT_EQ(result_of(settings, updates, tile), whole) << settings.name();
  }
}

// liars_max 1 of 9. The figures of the honest are within 1, and so must be what comes of a lie of a million.
TEST(RobustRules, AreNotMovedFarByOneLiar) {
  for (const AggregationSettings& settings : every_rule()) {
    Matrix updates = some_updates(11, 9, 30);
    const std::vector<float> honest = result_of(settings, updates);
    updates[4].assign(30, 1e6f);
    const std::vector<float> attacked = result_of(settings, updates);
    double moved = 0;
    for (size_t i = 0; i < 30; ++i) moved += std::pow(static_cast<double>(attacked[i] - honest[i]), 2);
    EXPECT_LT(std::sqrt(moved), 6) << settings.name();
  }
}

TEST(RobustRules, TakeEqualUpdatesForWhatTheyAre) {
  const Matrix updates(7, {0.25f, -3, 0});
  for (const AggregationSettings& settings : every_rule()) {
    // A radius that clips nothing: what is clipped falls short.
    const bool clips = settings.name() == "centred_clip";
    EXPECT_THAT(result_of(clips ? settings.with("radius", 10) : settings, updates), near(0.25f, -3, 0))
        << settings.name();
  }
}

TEST(RobustRegistry, RowsAreWhatEverybodyCountsOn) {
  std::set<std::string> names = {"mean"};
  for (const RobustRule* row : robust_rules()) {
    EXPECT_TRUE(names.insert(row->name).second) << row->name;
    EXPECT_TRUE(row->choose != nullptr || row->apply != nullptr) << row->name;
    EXPECT_TRUE(!row->weighs || row->choose != nullptr) << row->name;
    EXPECT_EQ(find_robust_rule(row->name), row);
    for (const RobustSetting& setting : row->settings) EXPECT_TRUE(setting.range.admits(setting.default_value));
    EXPECT_GE(rule(row->name).updates_min(), 3u);
  }
  EXPECT_EQ(find_robust_rule("mean"), nullptr);
  EXPECT_EQ(aggregation_names().size(), names.size());
}

TEST(RobustRegistry, SaysHowManyUpdatesALiarNeeds) {
  EXPECT_EQ(rule("trimmed_mean").with("liars_max", 5).updates_min(), 11u);
  EXPECT_EQ(rule("krum").with("liars_max", 5).updates_min(), 13u);
  EXPECT_EQ(rule("bulyan").with("liars_max", 5).updates_min(), 23u);
  for (const float wrong : {0.0f, 0.5f, -1.0f, 257.0f, NAN}) EXPECT_FALSE(kLiars.admits(wrong));
}

}  // namespace
}  // namespace coterie
