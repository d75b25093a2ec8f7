// Checks of attributions: a map that is right passes, one that is wrong does not.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/unit/tools/explain/planted_models.h"
#include "tools/explain/attribution_checks.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

constexpr size_t kUp = 2 * 8 + 5, kDown = 6 * 8 + 1;

AskedModel asked(const Model& model) {
  Result<AskedModel> made = AskedModel::create(model);
  EXPECT_OK(made);
  return std::move(*made);
}

Explanation explanation_of(AskedModel& model, const AttributionMethod& method) {
  Explanation made{.input = std::vector<float>(model.input_size(), 0.5f), .picked = 0};
  made.attribution = *method.attribute(model, made.input, 0, {});
  return made;
}

TEST(AttributionChecks, HoldForTheRightMap) {
  AskedModel model = asked(planted_sum({8, 8, 1}, kUp, kDown));
  const AttributionMethod& method = *find_attribution_method("integrated_gradients");
  const Explanation right = explanation_of(model, method);
  const Result<AttributionChecks> checks = check_attributions(model, std::span(&right, 1), method, {});
  ASSERT_OK(checks);
  EXPECT_TRUE(checks->deletion_holds()) << checks->own.deletion << " " << checks->random.deletion;
  const std::vector<double>&falling = checks->own.falling, &rising = checks->own.rising;
  ASSERT_EQ(falling.size(), checks->random.falling.size());
  EXPECT_NEAR(falling.front(), rising.back(), 1e-6) << "nothing is gone where all is there";
  EXPECT_NEAR(falling.back(), rising.front(), 1e-6);
  EXPECT_NEAR(falling.front(), checks->random.falling.front(), 1e-6);
  double area = -(falling.front() + falling.back()) / 2;
  for (const double point : falling) area += point;
  EXPECT_NEAR(area / static_cast<double>(falling.size() - 1), checks->own.deletion, 1e-9);
  EXPECT_TRUE(checks->insertion_holds()) << checks->own.insertion << " " << checks->random.insertion;
  EXPECT_TRUE(checks->randomisation_holds()) << checks->randomised_correlation;
}

TEST(AttributionChecks, DoNotHoldForTheOppositeMap) {
  AskedModel model = asked(planted_sum({8, 8, 1}, kUp, kDown));
  const AttributionMethod& method = *find_attribution_method("integrated_gradients");
  Explanation wrong = explanation_of(model, method);
  for (float& value : wrong.attribution.values) value = -value;
  const Result<AttributionChecks> checks = check_attributions(model, std::span(&wrong, 1), method, {});
  ASSERT_OK(checks);
  EXPECT_FALSE(checks->deletion_holds());
  EXPECT_FALSE(checks->insertion_holds());
  EXPECT_FALSE(checks->hold());
}

// A method that draws the input whatever the model is: randomised weights change nothing.
TEST(AttributionChecks, SeeAMethodThatDoesNotAskTheModel) {
  AskedModel model = asked(planted_sum({8, 8, 1}, kUp, kDown));
  const AttributionMethod deaf{
      "deaf", "",
      [](AskedModel& of, std::span<const float> input, uint32_t, const AttributionSettings&) -> Result<Attribution> {
        std::vector<float> values(input.begin(), input.end());
        values[3] = 7;
        return Attribution{of.input_shape(), values};
      }};
  const Explanation made = explanation_of(model, deaf);
  const Result<AttributionChecks> checks = check_attributions(model, std::span(&made, 1), deaf, {});
  ASSERT_OK(checks);
  EXPECT_NEAR(checks->randomised_correlation, 1, 1e-12);
  EXPECT_FALSE(checks->randomisation_holds());
}

// It names nothing, so it must not hold: neither because of the order that pixels lie in, nor because its ranks
// correlate with nothing.
TEST(AttributionChecks, DoNotHoldWhereAllValuesAreEqual) {
  const AttributionMethod flat{
      "flat", "", [](AskedModel& of, std::span<const float>, uint32_t, const AttributionSettings&) {
        return Result<Attribution>(Attribution{of.input_shape(), std::vector<float>(of.input_size(), 0.25f)});
      }};
  // The pixel order 0, 1, 2 ... would be a good one for the first two.
  for (const auto& [up, down] : {std::pair<size_t, size_t>{0, 63}, {1, 60}, {63, 0}}) {
    AskedModel model = asked(planted_sum({8, 8, 1}, up, down));
    const Explanation made = explanation_of(model, flat);
    const Result<AttributionChecks> checks = check_attributions(model, std::span(&made, 1), flat, {});
    ASSERT_OK(checks);
    EXPECT_FALSE(checks->deletion_holds()) << checks->own.deletion << " " << checks->random.deletion;
    EXPECT_FALSE(checks->insertion_holds()) << checks->own.insertion << " " << checks->random.insertion;
    EXPECT_FALSE(checks->randomisation_holds()) << checks->randomised_correlation;
  }
}

// Values that are equal say nothing of each other: the curves are the same wherever they lie.
TEST(AttributionChecks, TiesHaveNoOrderOfTheirOwn) {
  const AttributionMethod& method = *find_attribution_method("integrated_gradients");
  double deletion = 0;
  for (const size_t down : {size_t{0}, size_t{62}}) {  // of no attribution, first or last
    AskedModel model = asked(planted_sum({64}, 63, down));
    Explanation made = explanation_of(model, method);
    std::ranges::fill(made.attribution.values, 0.0f);
    made.attribution.values[63] = 1;
    const Result<AttributionChecks> checks = check_attributions(model, std::span(&made, 1), method, {.seed = 4});
    ASSERT_OK(checks);
    if (down > 0) EXPECT_NEAR(checks->own.deletion, deletion, 0.005) << "0.011 by the place alone";
    deletion = checks->own.deletion;
  }
}

TEST(AttributionChecks, RefuseWhatIsNotFinite) {
  AskedModel model = asked(planted_sum({8, 8, 1}, kUp, kDown));
  const AttributionMethod& method = *find_attribution_method("gradient");
  for (const float broken : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    Explanation one = explanation_of(model, method);
    one.example = 7;
    one.attribution.values[3] = broken;
    const Result<AttributionChecks> checks = check_attributions(model, std::span(&one, 1), method, {});
    ASSERT_FALSE(checks);
    EXPECT_EQ(checks.error().code(), ErrorCode::invalid_argument);
    EXPECT_THAT(checks.error().message(), HasSubstr("example 7, method gradient: an attribution is not finite"));
  }
  EXPECT_EQ(check_attributions(model, {}, method, {}).error().code(), ErrorCode::invalid_argument);
}

// Deleting the pixel that lifts the score first, then the others: 33 points of the curve by hand.
TEST(AttributionChecks, CurvesAreThoseOfTheOrder) {
  AskedModel model = asked(planted_sum({64}, 0, 63));
  const Explanation one{.input = std::vector<float>(64, 1.0f), .picked = 0};
  std::vector<size_t> order(64);
  std::iota(order.begin(), order.end(), size_t{0});
  const Result<OrderCurves> curves = order_curves(model, one, order, 0);
  ASSERT_OK(curves);
  const auto share = [](double score) { return 1 / (1 + std::exp(-score)); };
  const double all = share(kRise + kFall + kOffset), without = share(kFall + kOffset), nothing = share(kOffset),
               risen = share(kRise + kOffset);
  EXPECT_NEAR(curves->deletion, (all / 2 + 31 * without + nothing / 2) / 32, 1e-6);
  EXPECT_NEAR(curves->insertion, (nothing / 2 + 31 * risen + all / 2) / 32, 1e-6);
}

TEST(AttributionChecks, RanksAreSpearmans) {
  const std::vector<float> a = {1, 2, 3, 4, 5}, rising = {1, 4, 9, 16, 25}, falling = {5, 4, 3, 2, 1}, flat(5, 2.0f);
  EXPECT_DOUBLE_EQ(rank_correlation(a, rising), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(a, falling), -1);
  EXPECT_EQ(rank_correlation(a, flat), 0);
  const std::vector<float> broken = {1, std::nanf(""), 3, std::nanf(""), 5};
  EXPECT_LE(std::fabs(rank_correlation(a, broken)), 1) << "it ends";
  // scipy.stats.spearmanr([1, 2, 2, 4], [3, 1, 4, 4]) = 0.5
  EXPECT_NEAR(rank_correlation(std::vector<float>{1, 2, 2, 4}, std::vector<float>{3, 1, 4, 4}), 0.5, 1e-12);
}

TEST(AttributionChecks, ShuffledWeightsAreTheSameValues) {
  const Model model = mixed_net();
  const Result<Model> shuffled = with_shuffled_weights(model, 3);
  ASSERT_OK(shuffled);
  std::vector<float> before(model.parameters().begin(), model.parameters().end()),
      after(shuffled->parameters().begin(), shuffled->parameters().end());
  EXPECT_NE(before, after);
  std::ranges::sort(before);
  std::ranges::sort(after);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace coterie::test
