// Each method must find what a model was made to look at.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/unit/tools/explain/planted_models.h"
#include "tools/explain/attribution.h"

namespace coterie::test {
namespace {

using ::testing::Each;

AskedModel asked(const Model& model) {
  Result<AskedModel> made = AskedModel::create(model);
  EXPECT_OK(made);
  return std::move(*made);
}

Attribution attribution(AskedModel& model, std::string_view method, std::span<const float> input, uint32_t picked,
                        const AttributionSettings& settings = {}) {
  Result<Attribution> made = find_attribution_method(method)->attribute(model, input, picked, settings);
  EXPECT_OK(made);
  return std::move(*made);
}

size_t highest(const Attribution& made) {
  return static_cast<size_t>(std::ranges::max_element(made.values) - made.values.begin());
}
size_t lowest(const Attribution& made) {
  return static_cast<size_t>(std::ranges::min_element(made.values) - made.values.begin());
}

// One pixel lifts the score, another lowers it; the method must put both at the ends of its map.
TEST(Attribution, EachMethodFindsThePixelsThatMatter) {
  constexpr size_t kUp = 2 * 8 + 5, kDown = 6 * 8 + 1;
  AskedModel model = asked(planted_sum({8, 8, 1}, kUp, kDown));
  std::vector<float> input(64, 0.5f);
  input[0] = 0.9f;
  for (const char* method : {"gradient", "smooth_gradient", "integrated_gradients", "occlusion", "rise", "shapley"}) {
    SCOPED_TRACE(method);
    const Attribution made = attribution(model, method, input, 0, {.patch = 1, .stride = 1, .orders = 2});
    EXPECT_EQ(highest(made), kUp);
    EXPECT_EQ(lowest(made), kDown);
    const Attribution of_zero = attribution(model, method, input, 1, {.orders = 2});
    EXPECT_THAT(of_zero.values, Each(0.0f)) << "that output depends on nothing";
  }
}

// The middle pixel of three, each covered by windows of two: by hand.
TEST(Attribution, OcclusionIsTheMeanOverThePatchesOfAPixel) {
  AskedModel model = asked(planted_sum({1, 3, 1}, 1, 2));
  const std::vector<float> input(3, 1.0f);
  const Attribution made = attribution(model, "occlusion", input, 0, {.patch = 2, .stride = 1});
  // Windows: {0}, {0, 1}, {1, 2}, {2}.
  EXPECT_NEAR(made.values[0], kRise / 2, 1e-5);
  EXPECT_NEAR(made.values[1], (kRise + kRise + kFall) / 2, 1e-5);
  EXPECT_NEAR(made.values[2], (kRise + kFall + kFall) / 2, 1e-5);
}

TEST(Attribution, APatchEndsWithTheImage) {
  uint32_t asked_times = 0;
  Result<AskedModel> model = AskedModel::create(planted_sum({8, 8, 1}, 2, 5), [&]() -> Status {
    ++asked_times;
    return {};
  });
  ASSERT_OK(model);
  const std::vector<float> input(64, 1.0f);
  const Attribution whole = attribution(*model, "occlusion", input, 0, {.patch = 8, .stride = 1});
  EXPECT_EQ(asked_times, 1u + (15 * 15 + 63) / 64);
  // However large: two numbers in a sentence, and no memory for each.
  for (const uint32_t patch : {9u, 65'536u}) {
    const auto refused = find_attribution_method("occlusion")->attribute(*model, input, 0, {.patch = patch});
    EXPECT_ERROR(refused, ErrorCode::invalid_argument,
                 "a patch of " + std::to_string(patch) + " is larger than the image of 8 x 8");
  }
}

// Nobody has asked for the default.
TEST(Attribution, TheDefaultPatchFitsASmallImage) {
  AskedModel model = asked(planted_sum({3, 2, 1}, 2, 5));
  const std::vector<float> input(6, 1.0f);
  EXPECT_EQ(attribution(model, "occlusion", input, 0, {}).values,
            attribution(model, "occlusion", input, 0, {.patch = 3, .stride = 2}).values);
}

TEST(Attribution, AStrideIsAtMostThePatch) {
  AskedModel model = asked(planted_sum({8, 8, 1}, 2, 5));
  const std::vector<float> input(64, 1.0f);
  EXPECT_EQ(attribution(model, "occlusion", input, 0, {.patch = 1}).values,
            attribution(model, "occlusion", input, 0, {.patch = 1, .stride = 1}).values);
  EXPECT_EQ(attribution(model, "occlusion", input, 0, {.patch = 4}).values,
            attribution(model, "occlusion", input, 0, {.patch = 4, .stride = 2}).values);
}

TEST(Attribution, EachMethodForTablesFindsTheColumns) {
  AskedModel model = asked(planted_sum({8}, 2, 5));
  const std::vector<float> input = {1, -1, 0.5f, 2, 1, 0.25f, 3, 1};
  for (const char* method : {"integrated_gradients", "occlusion", "shapley"}) {
    SCOPED_TRACE(method);
    const Attribution made = attribution(model, method, input, 0);
    EXPECT_EQ(made.shape, (Shape{8}));
    EXPECT_NEAR(made.values[2], kRise * 0.5f, 1e-5);
    EXPECT_NEAR(made.values[5], kFall * 0.25f, 1e-5);
    EXPECT_THAT(std::vector<float>(made.values.begin() + 6, made.values.end()), Each(0.0f));
  }
  const Attribution smooth = attribution(model, "smooth_gradient", input, 0);
  EXPECT_NEAR(smooth.values[2], kRise, 1e-5);
  EXPECT_NEAR(smooth.values[5], kFall, 1e-5);
}

TEST(Attribution, GradCamSeesWhereItIsBright) {
  AskedModel model = asked(planted_brightness());
  std::vector<float> input(64, -0.1f);
  input[3 * 8 + 6] = 1;
  const Attribution bright = attribution(model, "grad_cam", input, 0);
  EXPECT_EQ(bright.shape, (Shape{8, 8}));
  EXPECT_EQ(highest(bright), 3u * 8 + 6);
  EXPECT_EQ(std::ranges::count_if(bright.values, [](float v) { return v > 0; }), 1);
  const Attribution dark = attribution(model, "grad_cam", input, 1);
  EXPECT_EQ(dark.values[3 * 8 + 6], 0);
  EXPECT_GT(dark.values[0], 0);
}

// The parts add up to what the output rose by from the baseline, within 1 % at 50 steps, and closer with more.
TEST(Attribution, IntegratedGradientsAreComplete) {
  AskedModel model = asked(mixed_net());
  Prng prng(4);
  std::vector<float> input(model.input_size());
  for (float& value : input) value = static_cast<float>(prng.uniform(0, 2));
  for (const float baseline : {0.0f, 0.7f}) {
    const std::vector<float> nothing(input.size(), baseline);
    for (uint32_t picked = 0; picked < model.outputs(); ++picked) {
      const double rise = model.scores(input, picked).value()[0] - model.scores(nothing, picked).value()[0];
      const auto gap = [&](uint32_t steps) {
        const Attribution made =
            attribution(model, "integrated_gradients", input, picked, {.baseline = baseline, .steps = steps});
        return std::fabs(std::accumulate(made.values.begin(), made.values.end(), 0.0) - rise);
      };
      EXPECT_LE(gap(50), 0.01 * std::max(0.02, std::fabs(rise))) << picked;
      EXPECT_LE(gap(400), 0.002 * std::max(0.02, std::fabs(rise))) << picked;
    }
  }
}

// A constant that is added to the output changes no map.
TEST(Attribution, RiseIsAboutDifferences) {
  AskedModel model = asked(planted_sum({8, 8, 1}, 10, 53));
  const std::vector<float> input(64, 1.0f);
  const Attribution made = attribution(model, "rise", input, 0, {.masks = 4000});
  EXPECT_NEAR(made.values[10], kRise, 0.4);
  EXPECT_NEAR(made.values[53], kFall, 0.4);
  EXPECT_NEAR(made.values[63 - 7], 0, 0.4);
}

TEST(Attribution, IsTheSameForTheSameSeed) {
  AskedModel model = asked(mixed_net());
  const std::vector<float> input(model.input_size(), 0.3f);
  for (const AttributionMethod& method : attribution_methods()) {
    SCOPED_TRACE(std::string(method.name));
    std::vector<float> uneven = input;
    uneven[7] = 1;
    const AttributionSettings settings{.masks = 70, .orders = 2, .seed = 3};
    EXPECT_EQ(attribution(model, method.name, uneven, 1, settings).values,
              attribution(model, method.name, uneven, 1, settings).values);
    EXPECT_EQ(find_attribution_method(method.name), &method);
  }
  EXPECT_EQ(find_attribution_method("magic"), nullptr);
}

TEST(Attribution, SettingsOutOfRangeAndWrongInputsAreRefused) {
  AskedModel table = asked(planted_sum({8}, 2, 5)), image = asked(planted_sum({8, 8, 1}, 2, 5));
  const std::vector<float> row(8), picture(64);
  const auto refuses = [](AskedModel& model, const char* method, std::span<const float> input,
                          const AttributionSettings& settings = {}) {
    const auto made = find_attribution_method(method)->attribute(model, input, 0, settings);
    return !made && made.error().code() == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refuses(table, "rise", row));
  EXPECT_TRUE(refuses(table, "grad_cam", row));
  EXPECT_TRUE(refuses(image, "grad_cam", picture)) << "it has no convolution";
  EXPECT_TRUE(refuses(image, "grad_cam", picture, {.layer = "nowhere"}));
  EXPECT_TRUE(refuses(image, "occlusion", picture, {.patch = 2, .stride = 3}));
  EXPECT_TRUE(refuses(image, "rise", picture, {.kept = 1}));
  EXPECT_TRUE(refuses(image, "rise", picture, {.masks = 0}));
  EXPECT_TRUE(refuses(image, "smooth_gradient", picture, {.samples = 0}));
  EXPECT_TRUE(refuses(image, "integrated_gradients", picture, {.steps = 0}));
}

// Whoever asks for the end gets it before the next batch.
TEST(Attribution, EndsWhenItIsTold) {
  uint32_t asked_times = 0;
  Result<AskedModel> model = AskedModel::create(planted_sum({8, 8, 1}, 2, 5), [&]() -> Status {
    if (++asked_times > 3) return Error(ErrorCode::cancelled, "enough");
    return {};
  });
  ASSERT_OK(model);
  const std::vector<float> input(64, 1.0f);
  for (const char* method : {"integrated_gradients", "rise"}) {
    asked_times = 0;
    const Result<Attribution> made = find_attribution_method(method)->attribute(*model, input, 0, {.steps = 1000});
    ASSERT_FALSE(made) << method;
    EXPECT_EQ(made.error().code(), ErrorCode::cancelled) << method;
    EXPECT_EQ(asked_times, 4u) << method;
  }
}

}  // namespace
}  // namespace coterie::test
