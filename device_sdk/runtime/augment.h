// Augmentation: images that differ a little each time they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/bilinear_resize.h"
#include "device_sdk/runtime/example_source.h"
#include "proto/messages/model.h"

namespace coterie {

// Done in this order. Crop and flip as He et al. 2016 (Deep Residual Learning for Image Recognition, 4.2) do for
// CIFAR-10.
struct Augmentation {
  uint32_t resize_height = 0;  // bilinear_resize.h; 0: as it is
  uint32_t resize_width = 0;
  uint32_t crop = 0;             // so many zeros around the image, then a random piece of the image's size
  bool flip = false;             // left and right exchanged, every other time by chance
  std::vector<float> mean;       // (x - mean) / deviation: a number a channel, one for all channels, or none
  std::vector<float> deviation;  // as many
  friend bool operator==(const Augmentation&, const Augmentation&) = default;
};

// "resize=32x48,crop=4,flip,normalise=0.5/0.25": any of them in any order, each once; height x width, mean/deviation,
// the numbers of several channels with colons between them ("0.49:0.48:0.45/0.2:0.2:0.2"). Errors: invalid_argument.
Result<Augmentation> parse_augmentation(std::string_view text);

// Another source's examples, with the first input (an image, height x width x channels) augmented. What chance decides
// depends on the seed, the epoch and the example's number alone: training that goes on from a checkpoint, or reads in
// another order, sees the same images.
class AugmentedSource final : public ExampleSource {
 public:
  // `image`: the shape that `base` gives; `base` must outlive it. Errors: invalid_argument (no image, a number of means
  // that is not that of the channels).
  static Result<AugmentedSource> create(ExampleSource& base, const Shape& image, const Augmentation& augmentation,
                                        uint64_t seed);

  // What the model is to take.
  Shape image_shape() const;

  uint64_t size() const override { return base_->size(); }
  void set_epoch(uint64_t epoch) override;
  std::optional<Digest> digest() const override { return base_->digest(); }  // the augmentation is not in it
  // Does not allocate from the second call on.
  Status read(uint64_t index, const Example& to) override;

 private:
  AugmentedSource(ExampleSource& base, const Augmentation& augmentation, uint64_t seed)
      : base_(&base), augmentation_(augmentation), seed_(seed) {}
  // Crops, flips and normalises.
  void write(std::span<const float> image, uint64_t index, std::span<float> to) const;

  ExampleSource* base_;
  Augmentation augmentation_;  // mean and deviation: one a channel
  uint64_t seed_;
  uint64_t epoch_ = 0;
  size_t height_ = 0, width_ = 0, channels_ = 0;  // after resizing
  std::optional<BilinearResize> resize_;
  std::vector<float> original_, resized_;
  std::vector<Example::Place> places_;
};

}  // namespace coterie
