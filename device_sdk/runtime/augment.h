// Augmentation: images that differ a little each time they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "device_sdk/runtime/bilinear_resize.h"
#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"
#include "proto/messages/augmentation.h"

namespace coterie {

// What `augment` (TrainOptions; empty: nothing) says, if such images go with the model and the loss. Errors:
// invalid_argument (a text that says nothing, a model that takes no images, of another size or with other channels;
// mixtures whose labels the loss cannot have; labels of single places that would have to move along).
Result<Augmentation> augmentation_for(const Model& model, const LossSettings& loss, std::string_view augment);

// The loss of mixtures: their labels are numbers, one a class.
LossSettings loss_with(const Augmentation& augmentation, const LossSettings& loss);

// Another source's examples, with the first input (an image, height x width x channels) augmented. What chance decides
// depends on the seed, the epoch and the example's number alone: training that goes on from a checkpoint, or reads in
// another order, sees the same images.
//
// Sources: crop and flip are those that He et al. 2016 (Deep Residual Learning for Image Recognition, 4.2) train
// CIFAR-10 with; random_box.h and colour_jitter.h have their own; mixup is Zhang et al. 2018, whose lambda each image
// has of its own here, and whose partner is another example, as augmented, of the same epoch.
class AugmentedSource final : public ExampleSource {
 public:
  // `image`: the shape that `base` gives; `base` must outlive it. Errors: invalid_argument (no image, channels that do
  // not go with the augmentation).
  static Result<AugmentedSource> create(ExampleSource& base, const Shape& image, const Augmentation& augmentation,
                                        uint64_t seed);

  // What the model is to take.
  Shape image_shape() const;

  uint64_t size() const override { return base_->size(); }
  void set_epoch(uint64_t epoch) override;
  void set_seed(uint64_t seed) { seed_ = seed; }
  std::optional<Digest> digest() const override { return base_->digest(); }  // the augmentation is not in it
  // Mixtures: the base has a label an example, `to` has as many numbers as there are classes; a label that is none of
  // them is invalid_argument. Does not allocate from the second call on.
  Status read(uint64_t index, const Example& to) override;

 private:
  AugmentedSource(ExampleSource& base, const Augmentation& augmentation, uint64_t seed)
      : base_(&base), augmentation_(augmentation), seed_(seed) {}
  // One example without a mixture: its image to `image`, the rest as `to` and `target` say.
  Status read_alone(uint64_t index, Prng& random, const Example& to, std::span<float> image, std::span<float> target);
  // Crops, flips, changes the colours and normalises.
  void write(std::span<const float> image, Prng& random, std::span<float> to) const;
  void change_colours(Prng& random, std::span<float> image) const;
  Status mix(uint64_t index, Prng& random, const Example& to);
  Prng random_of(uint64_t index) const;

  ExampleSource* base_;
  Augmentation augmentation_;  // mean and deviation: one a channel
  uint64_t seed_;
  uint64_t epoch_ = 0;
  ImageSize from_{};  // of the base's images
  ImageSize size_{};  // after resizing
  size_t channels_ = 0;
  std::optional<BilinearResize> resize_;
  std::vector<float> original_, resized_, partner_;
  std::vector<Example::Place> places_;
};

// `examples`, augmented for this model; nothing if the augmentation is none. They are resized from the size that they
// say they have (ExampleSource::first_input_shape). Errors: AugmentedSource's.
Result<std::optional<AugmentedSource>> augmented(ExampleSource& examples, const Model& model,
                                                 const Augmentation& augmentation, uint64_t seed);

// The same for what a model is judged by: resized and normalised alone. Errors also as augmentation_for.
Result<std::optional<AugmentedSource>> judged(ExampleSource& examples, const Model& model, const LossSettings& loss,
                                              std::string_view augment);

}  // namespace coterie
