#include "device_sdk/runtime/augment.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>
#include <set>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::Pointwise;
using Images = std::vector<float>;

// Example i is 1, 2, 3 ... plus 100 i, with a second input and a label of i.
class Ramp final : public ExampleSource {
 public:
  uint64_t size() const override { return 50; }
  void set_epoch(uint64_t epoch) override { epoch_ = epoch; }
  Status read(uint64_t index, const Example& to) override {
    std::iota(to.features().begin(), to.features().end(), 1.0f + 100 * static_cast<float>(index));
    if (to.input_count() > 1) to.tokens(1)[0] = static_cast<int32_t>(index);
    to.labels()[0] = static_cast<int32_t>(index);
    return {};
  }
  uint64_t epoch_ = 0;
};

AugmentedSource make(ExampleSource& base, const Shape& image, std::string_view text, uint64_t seed = 3) {
  return AugmentedSource::create(base, image, parse_augmentation(text).value(), seed).value();
}

Images read(AugmentedSource& source, uint64_t index) {
  const Shape shape = source.image_shape();
  Images image(static_cast<size_t>(shape[0] * shape[1] * shape[2])), target(1);
  const Example::Place input = image;
  EXPECT_OK(source.read(index, Example({&input, 1}, target)));
  return image;
}

TEST(Augmentation, IsReadFromAText) {
  const auto all = parse_augmentation("normalise=0.5:0:-1e-1/1:2:0.25,flip,resize=32x48,crop=4");
  ASSERT_OK(all);
  EXPECT_EQ(*all, (Augmentation{.resize_height = 32,
                                .resize_width = 48,
                                .crop = 4,
                                .flip = true,
                                .mean = {0.5f, 0, -0.1f},
                                .deviation = {1, 2, 0.25f}}));
  EXPECT_EQ(*parse_augmentation("flip"), (Augmentation{.flip = true, .mean = {}, .deviation = {}}));
}

TEST(Augmentation, SaysWhichPartOfTheTextIsWrong) {
  const std::map<std::string, std::string> cases = {
      {"", "must be resize=HEIGHTxWIDTH, crop=PIXELS, flip or normalise=MEAN/DEVIATION, is "},
      {"flip,", "must be resize"},
      {"flop", "must be resize=HEIGHTxWIDTH, crop=PIXELS, flip or normalise=MEAN/DEVIATION, is flop"},
      {"flip=1", "is flip=1"},
      {"flip,crop=2,flip", "has flip twice"},
      {"crop=0", "crop must be a number of pixels in [1, 16384], is crop=0"},
      {"crop=4x", "is crop=4x"},
      {"crop=16385", "is crop=16385"},
      {"resize=32", "resize must be HEIGHTxWIDTH, each in [1, 16384], is resize=32"},
      {"resize=0x3", "is resize=0x3"},
      {"resize=3x99999", "is resize=3x99999"},
      {"normalise=1", "normalise must be MEAN/DEVIATION"},
      {"normalise=1:2/1", "as many of each"},
      {"normalise=1/0", "deviations above 0"},
      {"normalise=1/x", "is normalise=1/x"},
      {"normalise=nan/1", "is normalise=nan/1"},
  };
  for (const auto& [text, words] : cases) {
    EXPECT_ERROR(parse_augmentation(text), ErrorCode::invalid_argument, words) << text;
  }
}

TEST(Augmentation, NormalisesEachChannel) {
  Ramp ramp;
  AugmentedSource source = make(ramp, {1, 2, 2}, "normalise=1:2/0.5:4");
  EXPECT_THAT(read(source, 0), ElementsAre(0, 0, 4, 0.5f));
  AugmentedSource same = make(ramp, {1, 2, 2}, "normalise=1/2");
  EXPECT_THAT(read(same, 0), ElementsAre(0, 0.5f, 1, 1.5f));
}

TEST(Augmentation, FlipsHalfOfTheImages) {
  Ramp ramp;
  AugmentedSource source = make(ramp, {2, 3, 1}, "flip");
  int flipped = 0;
  for (uint64_t i = 0; i < 50; ++i) {
    Images image = read(source, i);
    for (float& x : image) x -= 100 * static_cast<float>(i);
    if (image == Images{3, 2, 1, 6, 5, 4}) ++flipped;
    else EXPECT_EQ(image, (Images{1, 2, 3, 4, 5, 6}));
  }
  EXPECT_GT(flipped, 12);
  EXPECT_LT(flipped, 38);
}

TEST(Augmentation, CropsEveryPieceOfTheImageAndItsZeros) {
  Ramp ramp;
  AugmentedSource source = make(ramp, {2, 2, 1}, "crop=1");
  std::set<Images> seen;
  for (uint64_t epoch = 0; epoch < 200; ++epoch) {
    source.set_epoch(epoch);
    seen.insert(read(source, 0));
  }
  const std::set<Images> all = {{0, 0, 0, 1}, {0, 0, 1, 2}, {0, 0, 2, 0}, {0, 1, 0, 3}, {1, 2, 3, 4},
                                {2, 0, 4, 0}, {0, 3, 0, 0}, {3, 4, 0, 0}, {4, 0, 0, 0}};
  EXPECT_EQ(seen, all);
}

TEST(Augmentation, DependsOnSeedEpochAndNumberAlone) {
  Ramp ramp;
  AugmentedSource source = make(ramp, {4, 4, 1}, "crop=2,flip");
  AugmentedSource again = make(ramp, {4, 4, 1}, "flip,crop=2");
  AugmentedSource other = make(ramp, {4, 4, 1}, "crop=2,flip", 4);
  std::vector<Images> images;
  int changed_by_epoch = 0, changed_by_seed = 0;
  for (uint64_t i = 0; i < 50; ++i) images.push_back(read(source, i));
  for (uint64_t i = 50; i-- > 0;) EXPECT_EQ(read(again, i), images[i]) << "in another order";
  source.set_epoch(1);
  EXPECT_EQ(ramp.epoch_, 1u);
  for (uint64_t i = 0; i < 50; ++i) {
    changed_by_epoch += read(source, i) != images[i];
    changed_by_seed += read(other, i) != images[i];
  }
  EXPECT_GT(changed_by_epoch, 40);
  EXPECT_GT(changed_by_seed, 40);
  source.set_epoch(0);
  EXPECT_EQ(read(source, 7), images[7]);
}

// torch.nn.functional.interpolate(mode="bilinear", align_corners=False); antialias=True to shrink.
TEST(Augmentation, ResizesAsPyTorchDoes) {
  Ramp ramp;
  AugmentedSource larger = make(ramp, {2, 2, 1}, "resize=4x4");
  EXPECT_THAT(larger.image_shape(), ElementsAre(4, 4, 1));
  EXPECT_THAT(read(larger, 0), Pointwise(FloatEq(), {1.f, 1.25f, 1.75f, 2.f, 1.5f, 1.75f, 2.25f, 2.5f, 2.5f, 2.75f,
                                                     3.25f, 3.5f, 3.f, 3.25f, 3.75f, 4.f}));
  AugmentedSource smaller = make(ramp, {1, 4, 1}, "resize=1x2");
  EXPECT_THAT(read(smaller, 0), Pointwise(FloatEq(), {1 + 5.f / 7, 1 + 16.f / 7}));
  AugmentedSource colours = make(ramp, {1, 1, 3}, "resize=2x1");
  EXPECT_THAT(read(colours, 0), Pointwise(FloatEq(), {1.f, 2.f, 3.f, 1.f, 2.f, 3.f}));
}

TEST(Augmentation, LeavesOtherInputsAndTheTargetAlone) {
  Ramp ramp;
  AugmentedSource source = make(ramp, {2, 2, 1}, "crop=1");
  std::vector<float> image(4), token(1), target(1);
  const std::vector<Example::Place> inputs{image, token};
  const Example example(inputs, target);
  ASSERT_OK(source.read(9, example));
  EXPECT_EQ(example.tokens(1)[0], 9);
  EXPECT_EQ(example.labels()[0], 9);
}

TEST(Augmentation, RefusesWhatIsNoImageOrHasOtherChannels) {
  Ramp ramp;
  EXPECT_ERROR(AugmentedSource::create(ramp, {4, 4}, {}, 1), ErrorCode::invalid_argument, "these have 2 dimensions");
  const auto normalise = parse_augmentation("normalise=1:2/1:2");
  ASSERT_OK(normalise);
  EXPECT_ERROR(AugmentedSource::create(ramp, {4, 4, 3}, *normalise, 1), ErrorCode::invalid_argument,
               "normalise has 2 numbers, the images have 3 channels");
  AugmentedSource source = make(ramp, {2, 2, 1}, "flip");
  std::vector<float> image(5), target(1);
  const Example::Place input = image;
  EXPECT_ERROR(source.read(0, Example({&input, 1}, target)), ErrorCode::invalid_argument,
               "gives images of 4 values, the model takes 5");
}

}  // namespace
}  // namespace coterie
