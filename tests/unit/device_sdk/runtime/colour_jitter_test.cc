#include "device_sdk/runtime/colour_jitter.h"

#include <gmock/gmock.h>

#include <vector>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

const std::vector<float> kPixel = {0.2f, 0.4f, 0.8f};

void expect_near(const std::vector<float>& image, const std::vector<float>& expected) {
  EXPECT_THAT(image, Pointwise(FloatNear(1e-5f), expected));
}

// What torchvision 2's functional transforms give for these pixels.
TEST(ColourJitter, IsTorchvisions) {
  std::vector<float> brighter = kPixel;
  adjust_brightness(brighter, 1.5f);
  expect_near(brighter, {0.3f, 0.6f, 1});
  std::vector<float> paler = kPixel;
  adjust_saturation(paler, 3, 0.5f);
  expect_near(paler, {0.29289f, 0.39289f, 0.59289f});
  std::vector<float> turned = kPixel;
  adjust_hue(turned, 3, 0.1f);
  expect_near(turned, {0.36f, 0.2f, 0.8f});
  std::vector<float> contrasted = {0.2f, 0.4f, 0.8f, 0.6f, 0.1f, 0.3f};
  adjust_contrast(contrasted, 3, 2);
  expect_near(contrasted, {0.07099f, 0.47099f, 1, 0.87099f, 0, 0.27099f});
}

TEST(ColourJitter, AWholeTurnChangesNothingNorDoesAHueOfGrey) {
  for (const float turn : {1.0f, -1.0f, 0.0f}) {
    std::vector<float> image = {0.2f, 0.4f, 0.8f, 0.9f, 0.1f, 0.3f, 0.3f, 0.9f, 0.2f, 0.5f, 0.5f, 0.5f};
    const std::vector<float> before = image;
    adjust_hue(image, 3, turn);
    expect_near(image, before);
  }
  std::vector<float> grey = {0.5f, 0.5f, 0.5f};
  adjust_hue(grey, 3, 0.4f);
  EXPECT_THAT(grey, ElementsAre(0.5f, 0.5f, 0.5f));
}

TEST(ColourJitter, OfOneChannelIsOfItsGrey) {
  std::vector<float> image = {0.25f, 0.75f};
  adjust_contrast(image, 1, 0.5f);
  expect_near(image, {0.375f, 0.625f});
  adjust_saturation(image, 1, 0);
  adjust_hue(image, 1, 0.3f);
  expect_near(image, {0.375f, 0.625f});
}

}  // namespace
}  // namespace coterie
