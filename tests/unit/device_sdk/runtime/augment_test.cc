#include "device_sdk/runtime/augment.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

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

TEST(Augmentation, RandomPartsAreMadeAsLargeAsTheImage) {
  Ramp ramp;
  AugmentedSource source = make(ramp, {8, 8, 1}, "random_resized_crop=0.08:1");
  std::set<Images> seen;
  for (uint64_t epoch = 0; epoch < 40; ++epoch) {
    source.set_epoch(epoch);
    const Images image = read(source, 0);
    seen.insert(image);
    for (const float x : image) {
      EXPECT_GE(x, 0.999f);
      EXPECT_LE(x, 64.001f);
    }
  }
  EXPECT_GT(seen.size(), 25u);
  AugmentedSource whole = make(ramp, {1, 1, 1}, "random_resized_crop=1:1");
  EXPECT_THAT(read(whole, 0), ElementsAre(1)) << "the only part there is";
}

TEST(Augmentation, ColoursChangeByFactorsFromTheirRange) {
  Ramp ramp;
  AugmentedSource source = make(ramp, {1, 1, 1}, "normalise=0/1000,colour_jitter=0.5");
  for (uint64_t i = 1; i < 50; ++i) EXPECT_EQ(read(source, i), Images{0.001f}) << "clamped to 1, then normalised";
  std::set<Images> seen;
  for (uint64_t epoch = 0; epoch < 50; ++epoch) {
    source.set_epoch(epoch);
    seen.insert(read(source, 0));
  }
  EXPECT_GT(seen.size(), 15u) << "below 1 for half of the factors";
  EXPECT_GE((*seen.begin())[0], 0.0005f);
  AugmentedSource grey = make(ramp, {1, 1, 1}, "colour_jitter=0:0:0.9:0.5");
  EXPECT_EQ(read(grey, 0), Images{1}) << "an image of one channel has no saturation and no hue";
}

// The image of example i is all i / 50, its label i mod 3.
class Levels final : public ExampleSource {
 public:
  uint64_t size() const override { return 50; }
  Status read(uint64_t index, const Example& to) override {
    std::ranges::fill(to.features(), static_cast<float>(index) / 50);
    to.labels()[0] = static_cast<int32_t>(index % 3);
    return {};
  }
};

struct Mixed {
  Images image;
  std::vector<float> target;
};

Mixed read_mixed(AugmentedSource& source, uint64_t index, size_t classes = 3) {
  Mixed mixed{Images(36), std::vector<float>(classes)};
  const Example::Place input = mixed.image;
  EXPECT_OK(source.read(index, Example({&input, 1}, mixed.target)));
  return mixed;
}

TEST(Augmentation, MixupMixesImagesAndLabelsAlike) {
  Levels levels;
  AugmentedSource source = make(levels, {6, 6, 1}, "mixup=1");
  int mixed_ones = 0;
  for (uint64_t i = 0; i < 50; ++i) {
    const auto [image, target] = read_mixed(source, i);
    EXPECT_NEAR(std::accumulate(target.begin(), target.end(), 0.0), 1, 1e-6);
    for (const float x : image) EXPECT_EQ(x, image[0]);
    const float own = target[i % 3];
    if (own > 0.999f) continue;
    ++mixed_ones;
    // image = own * i / 50 + (1 - own) * j / 50 for an example j of the other class that has a label.
    const double j = (static_cast<double>(image[0]) * 50 - static_cast<double>(own) * static_cast<double>(i)) /
                     (1 - static_cast<double>(own));
    EXPECT_NEAR(j, std::round(j), 1e-2);
    EXPECT_GT(target[static_cast<size_t>(std::lround(j)) % 3], 0);
  }
  EXPECT_GT(mixed_ones, 20);
}

TEST(Augmentation, CutmixPastesARectangleAndLabelsByItsArea) {
  Levels levels;
  AugmentedSource source = make(levels, {6, 6, 1}, "cutmix=1");
  int pasted = 0;
  for (uint64_t i = 0; i < 50; ++i) {
    const auto [image, target] = read_mixed(source, i);
    const std::set<float> values(image.begin(), image.end());
    ASSERT_LE(values.size(), 2u);
    const float own = static_cast<float>(i) / 50;
    const auto kept = static_cast<float>(std::ranges::count(image, own)) / 36;
    if (kept == 1) continue;
    ++pasted;
    const float other = *values.begin() == own ? *values.rbegin() : *values.begin();
    const size_t partner = static_cast<size_t>(std::lround(other * 50)) % 3;
    if (partner != i % 3) {
      EXPECT_NEAR(target[i % 3], kept, 1e-6);
      EXPECT_NEAR(target[partner], 1 - kept, 1e-6);
    }
  }
  EXPECT_GT(pasted, 20);
}

TEST(Augmentation, MixturesAreTheSameInEveryOrderAndRefuseOtherLabels) {
  Levels levels;
  AugmentedSource source = make(levels, {6, 6, 1}, "flip,mixup=0.4,cutmix=1"), again = source;
  std::vector<Images> images;
  for (uint64_t i = 0; i < 50; ++i) images.push_back(read_mixed(source, i).image);
  for (uint64_t i = 50; i-- > 0;) EXPECT_EQ(read_mixed(again, i).image, images[i]);
  Images image(36);
  std::vector<float> two(2);
  const Example::Place input = image;
  bool is_refused = false;
  for (uint64_t i = 0; i < 50; ++i) is_refused = is_refused || !source.read(i, Example({&input, 1}, two));
  EXPECT_TRUE(is_refused) << "a label of 2 among 2 classes";
}

TEST(Augmentation, IsJudgedByTheModelAndTheLoss) {
  const Model cnn = test::small_cnn();  // 8 x 8 x 1, 10 classes
  const auto refused = [&](std::string_view text, const LossSettings& loss, std::string_view words) {
    EXPECT_ERROR(augmentation_for(cnn, loss, text), ErrorCode::invalid_argument, std::string(words)) << text;
  };
  EXPECT_EQ(*augmentation_for(cnn, {}, ""), Augmentation{});
  EXPECT_OK(augmentation_for(cnn, {}, "resize=8x8,crop=2,flip,colour_jitter=0.1:0.1,normalise=0.1/2,mixup=1,cutmix=1"));
  refused("resize=8x9", {}, "resize gives 8x9, the model takes 8x8");
  refused("normalise=1:2/1:2", {}, "the images have 1 channels");
  refused("mixup=1", {.kind = Loss::mean_squared_error}, "need the loss softmax_cross_entropy of labels");
  refused("cutmix=1", {.target = TargetKind::values}, "of values");
  refused("cutmix=1", {.class_weights = std::vector<float>(10, 1)}, "class_weights");
  refused("flop", {}, "is flop");
  ModelBuilder build("vector", {4}, 1);
  const Model vector = test::load_or_die(build.finish(build.dense(build.input(), 2)));
  EXPECT_ERROR(augmentation_for(vector, {}, "flip"), ErrorCode::invalid_argument, "these have 1 dimensions");
  ModelBuilder pairs("pairs", {4, 4, 2}, 1);
  const Model two_channels = test::load_or_die(pairs.finish(pairs.dense(pairs.flatten(pairs.input()), 2)));
  EXPECT_ERROR(augmentation_for(two_channels, {}, "colour_jitter=0.1"), ErrorCode::invalid_argument, "1 or 3 channels");
  ModelBuilder places("places", {4, 4, 1}, 1);
  const Model of_places = test::load_or_die(places.finish(places.conv2d(places.input(), {.filters = 3, .kernel = 1})));
  EXPECT_ERROR(augmentation_for(of_places, {}, "flip"), ErrorCode::invalid_argument, "labels of the 16 places");
  EXPECT_OK(augmentation_for(of_places, {}, "normalise=0.5/0.5")) << "moves nothing";
}

TEST(Augmentation, OfWhatAModelIsJudgedByHasNoChance) {
  Ramp ramp;
  const Model cnn = test::small_cnn();
  auto images = judged(ramp, cnn, {}, "crop=2,flip,normalise=1/2,mixup=1");
  ASSERT_OK(images);
  ASSERT_TRUE(*images);
  const Images image = read(**images, 0);
  for (size_t i = 0; i < image.size(); ++i) EXPECT_EQ(image[i], static_cast<float>(i) / 2);
  images = judged(ramp, cnn, {}, "crop=2,flip");
  ASSERT_OK(images);
  EXPECT_FALSE(*images) << "they are as they are";
}

// A data set file says of what size its images are.
TEST(Augmentation, ResizesWhatASourceSaysIsOfAnotherSize) {
  const Model cnn = test::small_cnn();
  const DatasetHeader header = labelled_dataset("small", 4, {4, 4, 1}, 10);
  DatasetSource data =
      DatasetSource::load(encode_dataset(header, std::vector<float>(64, 0.25f), std::vector<int32_t>(4, 1))).value();
  const TrainOptions options{.batch_size = 4, .augment = "resize=8x8,flip"};
  Trainer trainer = Trainer::create(cnn, options, data).value();
  EXPECT_OK(trainer.step());
  Trainer without = Trainer::create(cnn, {.batch_size = 4}, data).value();
  EXPECT_ERROR(without.step(), ErrorCode::invalid_argument, "16 values");
}

TEST(Augmentation, TrainsToTheSameBitsWithThreadsPartsAndCheckpoints) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "checkpoint";
  const Model cnn = test::small_cnn();
  test::Examples examples(20, 64, 10);
  for (const std::string_view text :
       {"crop=2,flip", "random_resized_crop=0.3:1,colour_jitter=0.4", "mixup=0.4,cutmix=1"}) {
    SCOPED_TRACE(text);
    TrainOptions options{.batch_size = 8, .epochs = 2, .seed = 5, .augment = std::string(text)};
    const auto trained = [&](const TrainOptions& with, bool with_checkpoints) {
      Trainer trainer = Trainer::create(cnn, with, examples).value();
      while (!trainer.finished()) {
        EXPECT_OK(trainer.step());
        if (!with_checkpoints) continue;
        EXPECT_OK(trainer.save_checkpoint(path));
        TrainOptions other = with;
        other.seed = 77;  // the seed is the checkpoint's
        trainer = Trainer::create(cnn, other, examples).value();
        EXPECT_OK(trainer.restore_checkpoint(path));
      }
      return std::vector<float>(trainer.parameters().begin(), trainer.parameters().end());
    };
    const std::vector<float> once = trained(options, false);
    EXPECT_EQ(trained(options, true), once);
    TrainOptions several = options;
    several.threads = 3;
    several.part_nanoseconds_min = 0;
    EXPECT_EQ(trained(several, false), once);
    TrainOptions plain = options;
    plain.augment.clear();
    EXPECT_NE(trained(plain, false), once);
    TrainOptions other_seed = options;
    other_seed.seed = 6;
    EXPECT_NE(trained(other_seed, false), once);
    Trainer without = Trainer::create(cnn, plain, examples).value();
    EXPECT_ERROR(without.restore_checkpoint(path), ErrorCode::conflict, "not the same: augment");
  }
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
