#include "proto/messages/augmentation.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

TEST(Augmentation, IsReadFromAText) {
  const auto all = parse_augmentation(
      "normalise=0.5:0:-1e-1/1:2:0.25,flip,resize=32x48,crop=4,mixup=0.2,cutmix=1,colour_jitter=0.4:0.3:0.2:0.1,"
      "random_resized_crop=0.08:1");
  ASSERT_OK(all);
  Augmentation expected;
  expected.resize_height = 32, expected.resize_width = 48;
  expected.scale_min = 0.08f, expected.scale_max = 1;
  expected.crop = 4, expected.flip = true;
  expected.brightness = 0.4f, expected.contrast = 0.3f, expected.saturation = 0.2f, expected.hue = 0.1f;
  expected.mean = {0.5f, 0, -0.1f}, expected.deviation = {1, 2, 0.25f};
  expected.mixup = 0.2f, expected.cutmix = 1;
  EXPECT_EQ(*all, expected);
  Augmentation judged;
  judged.resize_height = 32, judged.resize_width = 48;
  judged.mean = expected.mean, judged.deviation = expected.deviation;
  EXPECT_EQ(without_chance(*all), judged);
  EXPECT_EQ(parse_augmentation("colour_jitter=0.5")->brightness, 0.5f);
  EXPECT_EQ(parse_augmentation("colour_jitter=0.5")->hue, 0);
}

TEST(Augmentation, SaysWhichPartOfTheTextIsWrong) {
  const std::map<std::string, std::string> cases = {
      {"", "must be resize=HEIGHTxWIDTH, "},
      {"flip,", "must be resize"},
      {"flop", "mixup=ALPHA or cutmix=ALPHA, is flop"},
      {"flip=1", "is flip=1"},
      {"flip,crop=2,flip", "has flip twice"},
      {"crop=0", "crop must be a number of pixels in [1, 16384], is crop=0"},
      {"crop=4x", "is crop=4x"},
      {"crop=16385", "is crop=16385"},
      {"resize=32", "resize must be HEIGHTxWIDTH, each in [1, 16384], is resize=32"},
      {"resize=0x3", "is resize=0x3"},
      {"resize=3x99999", "is resize=3x99999"},
      {"random_resized_crop=0.5", "random_resized_crop must be MIN:MAX"},
      {"random_resized_crop=0:1", "in (0, 1]"},
      {"random_resized_crop=0.5:0.4", "is random_resized_crop=0.5:0.4"},
      {"random_resized_crop=0.5:1.1", "is random_resized_crop=0.5:1.1"},
      {"colour_jitter=0", "not all 0"},
      {"colour_jitter=-1:1", "is colour_jitter=-1:1"},
      {"colour_jitter=0:0:0:0.6", "hue in [0, 0.5]"},
      {"colour_jitter=1:1:1:0.1:1", "is colour_jitter=1:1:1:0.1:1"},
      {"normalise=1", "normalise must be MEAN/DEVIATION"},
      {"normalise=1:2/1", "as many of each"},
      {"normalise=1:/1:", "is normalise=1:/1:"},
      {"normalise=1/0", "deviations above 0"},
      {"normalise=1/x", "is normalise=1/x"},
      {"normalise=nan/1", "is normalise=nan/1"},
      {"mixup=0", "mixup must be a number in (0, 100]"},
      {"mixup=nan", "is mixup=nan"},
      {"cutmix=101", "cutmix must be a number in (0, 100]"},
      {std::string(kAugmentBytesMax + 1, 'x'), "has 1025 bytes, at most 1024"},
  };
  for (const auto& [text, words] : cases) {
    EXPECT_ERROR(parse_augmentation(text), ErrorCode::invalid_argument, words) << text;
  }
}

}  // namespace
}  // namespace coterie
