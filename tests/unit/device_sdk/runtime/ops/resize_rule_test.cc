#include <gtest/gtest.h>

#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

std::vector<float> resized(const Shape& input, const std::vector<float>& values, const Resize2dAttributes& attributes) {
  ModelBuilder build("resize", input, 1);
  const Model model = computing(build, build.op(OpKind::resize2d, {build.input()}, attributes));
  Batch batch(model, 1);
  batch.floats() = values;
  return outputs_of(model, batch);
}

// torch.nn.functional.interpolate of [[1, 2], [3, 4]], PyTorch 1.13.
TEST(ResizeRule, InterpolatesAsPyTorch) {
  const std::vector<float> square = {1, 2, 3, 4};
  Resize2dAttributes a{.height = 4, .width = 4, .mode = ResizeMode::bilinear};
  EXPECT_EQ(resized({2, 2, 1}, square, a), (std::vector<float>{1, 1.25f, 1.75f, 2, 1.5f, 1.75f, 2.25f, 2.5f, 2.5f,
                                                               2.75f, 3.25f, 3.5f, 3, 3.25f, 3.75f, 4}));
  a = {.height = 3, .width = 3, .mode = ResizeMode::bilinear, .coordinates = ResizeCoordinates::align_corners};
  EXPECT_EQ(resized({2, 2, 1}, square, a), (std::vector<float>{1, 1.5f, 2, 2, 2.5f, 3, 3, 3.5f, 4}));
  a = {.height = 4, .width = 4, .coordinates = ResizeCoordinates::asymmetric, .rounding = ResizeRounding::floor};
  EXPECT_EQ(resized({2, 2, 1}, square, a), (std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
}

// ONNX's test cases resize_downsample_sizes_nearest and the roundings of resize_upsample_sizes_nearest_*.
TEST(ResizeRule, RoundsAsItIsTold) {
  const std::vector<float> line = {0, 1, 2, 3};
  const auto rounded = [&](ResizeRounding rounding) {
    return resized({1, 4, 1}, line, {.height = 1, .width = 8, .rounding = rounding});
  };
  // Positions -0.25, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25.
  EXPECT_EQ(rounded(ResizeRounding::round_prefer_floor), (std::vector<float>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(rounded(ResizeRounding::floor), (std::vector<float>{0, 0, 0, 1, 1, 2, 2, 3}));
  EXPECT_EQ(rounded(ResizeRounding::ceil), (std::vector<float>{0, 1, 1, 2, 2, 3, 3, 3}));
  const auto halved = [&](ResizeRounding rounding) {  // positions 0.5, 2.5
    return resized({1, 4, 1}, line, {.height = 1, .width = 2, .rounding = rounding});
  };
  EXPECT_EQ(halved(ResizeRounding::round_prefer_floor), (std::vector<float>{0, 2}));
  EXPECT_EQ(halved(ResizeRounding::round_prefer_ceil), (std::vector<float>{1, 3}));
}

TEST(ResizeRule, DifferentiatesUpAndDown) {
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::bilinear}) {
    for (const uint32_t size : {2u, 7u}) {
      ModelBuilder build("resize", {4, 3, 2}, 1);
      const TensorId y = build.op(OpKind::resize2d, {shifted(build, build.input())},
                                  Resize2dAttributes{.height = size, .width = size + 1, .mode = mode});
      const Model model = scored(build, y);
      Batch batch(model, 2);
      expect_gradient_is_numerical(model, batch);
    }
  }
}

TEST(ResizeRule, RefusesWhatIsNoImage) {
  const auto refused = [](const Shape& input, const Resize2dAttributes& a, std::string_view words) {
    ModelBuilder build("resize", input, 1);
    EXPECT_ERROR(build.finish(build.op(OpKind::resize2d, {build.input()}, a)), ErrorCode::malformed, words);
  };
  refused({4, 4}, {}, "batch x height x width x channels");
  refused({4, 4, 1}, {.height = 0}, "no pixels");
  refused({4, 4, 1}, {.scale_h = -1}, "scale");
  refused({4, 4, 1}, {.rounding = static_cast<ResizeRounding>(9)}, "mode is unknown");
}

}  // namespace
}  // namespace coterie::test
