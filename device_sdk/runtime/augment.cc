#include "device_sdk/runtime/augment.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "base/text/concat.h"
#include "device_sdk/runtime/colour_jitter.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/random_box.h"

namespace coterie {
namespace {

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"augmentation: ", what})); }

Status check_mixture(const Model& model, const LossSettings& loss) {
  if (loss.kind != Loss::softmax_cross_entropy || loss.target != TargetKind::labels) {
    return bad(concat({"mixup and cutmix need the loss softmax_cross_entropy of labels, not ", to_string(loss.kind),
                       (loss.target == TargetKind::labels ? "" : " of values")}));
  }
  if (!loss.class_weights.empty()) return bad("mixup and cutmix go without class_weights: a mixture has no class");
  if (!loss.heads.empty()) return bad("mixup and cutmix go without heads: one target is mixed");
  if (loss.ignore_label) return bad("mixup and cutmix go without ignore_label: a mixture has no class");
  if (model.graph().inputs.size() != 1) return bad("mixup and cutmix need a model of one input");
  return {};
}

// One number for all channels becomes one a channel.
Status spread(std::vector<float>& numbers, size_t channels, float otherwise) {
  if (numbers.empty()) numbers.push_back(otherwise);
  if (numbers.size() == 1) numbers.resize(channels, numbers.front());
  if (numbers.size() == channels) return {};
  return bad(concat({"normalise has ", numbers.size(), " numbers, the images have ", channels, " channels"}));
}

Status check_image(const Shape& image, const Augmentation& augmentation) {
  if (image.size() != 3) {
    return bad(concat({"takes images of height x width x channels, these have ", image.size(), " dimensions"}));
  }
  if (augmentation.jitters() && image[2] != 1 && image[2] != 3) {
    return bad(concat({"colour_jitter takes images of 1 or 3 channels, these have ", image[2]}));
  }
  return {};
}

}  // namespace

Result<Augmentation> augmentation_for(const Model& model, const LossSettings& loss, std::string_view augment) {
  if (augment.empty()) return Augmentation{};
  if (!kHasAugmentation) return left_out("augmentation: there is none", "augmentation");
  COT_ASSIGN(const Augmentation augmentation, parse_augmentation(augment));
  const Shape& image = model.input_shape();
  if (model.input_type() != DataType::float32) return bad("takes images, the model takes whole numbers");
  COT_TRY(check_image(image, augmentation));
  std::vector<float> mean = augmentation.mean;
  COT_TRY(spread(mean, static_cast<size_t>(image[2]), 0));
  if (augmentation.resize_height > 0 &&
      (augmentation.resize_height != image[0] || augmentation.resize_width != image[1])) {
    return bad(concat({"resize gives ", augmentation.resize_height, "x", augmentation.resize_width,
                       ", the model takes ", image[0], "x", image[1]}));
  }
  if (augmentation.mixes()) COT_TRY(check_mixture(model, loss));
  const uint64_t rows = elements(model.output_shape()) / static_cast<uint64_t>(model.output_shape().back());
  if (rows > 1 && (augmentation.moves() || augmentation.mixes())) {
    return bad(concat({"crop, flip, random_resized_crop, mixup and cutmix would leave the labels of the ", rows,
                       " places of each image where they are"}));
  }
  return augmentation;
}

LossSettings loss_with(const Augmentation& augmentation, const LossSettings& loss) {
  LossSettings mixed = loss;
  if (augmentation.mixes()) mixed.target = TargetKind::values;
  return mixed;
}

Result<AugmentedSource> AugmentedSource::create(ExampleSource& base, const Shape& image,
                                                const Augmentation& augmentation, uint64_t seed) {
  if (!kHasAugmentation) return left_out("augmentation: there is none", "augmentation");
  COT_TRY(check_image(image, augmentation));
  COT_ASSIGN(const uint64_t elements, element_count(image));
  AugmentedSource source(base, augmentation, seed);
  source.from_ = {static_cast<size_t>(image[0]), static_cast<size_t>(image[1])};
  source.size_ = source.from_;
  source.channels_ = static_cast<size_t>(image[2]);
  COT_TRY(spread(source.augmentation_.mean, source.channels_, 0));
  COT_TRY(spread(source.augmentation_.deviation, source.channels_, 1));
  source.original_.resize(elements);
  const bool is_resized = augmentation.resize_height > 0;
  if (is_resized) source.size_ = {augmentation.resize_height, augmentation.resize_width};
  const size_t elements_after = source.size_.height * source.size_.width * source.channels_;
  if (is_resized || augmentation.scale_max > 0) {
    source.resize_.emplace(source.from_, source.size_, source.channels_);
    source.resized_.resize(elements_after);
  }
  if (augmentation.mixes()) source.partner_.resize(elements_after);
  return source;
}

Shape AugmentedSource::image_shape() const {
  return {static_cast<int64_t>(size_.height), static_cast<int64_t>(size_.width), static_cast<int64_t>(channels_)};
}

void AugmentedSource::set_epoch(uint64_t epoch) {
  epoch_ = epoch;
  base_->set_epoch(epoch);
}

Prng AugmentedSource::random_of(uint64_t index) const {
  // By epoch and index alone: an example is the same in whatever order examples are read, after a resume as well.
  return Prng::derived(Prng::derived(seed_, epoch_).next(), index);
}

Status AugmentedSource::read(uint64_t index, const Example& to) {
  if (!kHasAugmentation) return left_out("augmentation: there is none", "augmentation");
  const size_t elements = size_.height * size_.width * channels_;
  if (to.input_count() < 1 || to.features().size() != elements) {
    return bad(concat(
        {"gives images of ", elements, " values, the model takes ", to.input_count() < 1 ? 0 : to.features().size()}));
  }
  Prng random = random_of(index);
  if (augmentation_.mixes()) return mix(index, random, to);
  return read_alone(index, random, to, to.features(), to.targets());
}

Status AugmentedSource::read_alone(uint64_t index, Prng& random, const Example& to, std::span<float> image,
                                   std::span<float> target) {
  places_.assign(1, original_);
  for (size_t i = 1; i < to.input_count(); ++i) places_.push_back(to.features(i));
  COT_TRY(base_->read(index, Example(places_, target)));
  if (augmentation_.scale_max > 0) {
    resize_->look_at(random_resized_box(random, from_, augmentation_.scale_min, augmentation_.scale_max));
  }
  if (resize_) resize_->run(original_, resized_);
  write(resize_ ? resized_ : original_, random, image);
  return {};
}

void AugmentedSource::write(std::span<const float> image, Prng& random, std::span<float> to) const {
  const size_t crop = augmentation_.crop;
  const size_t down = random.below(2 * crop + 1), right = random.below(2 * crop + 1);
  const bool is_flipped = augmentation_.flip && random.below(2) == 1;
  float* out = to.data();
  for (size_t y = 0; y < size_.height; ++y) {
    for (size_t x = 0; x < size_.width; ++x) {
      // A place in the zeros above or left of the image becomes a huge number here, which is outside, too.
      const size_t from_y = y + down - crop;
      const size_t from_x = (is_flipped ? size_.width - 1 - x : x) + right - crop;
      const bool is_inside = from_y < size_.height && from_x < size_.width;
      const float* in = is_inside ? &image[(from_y * size_.width + from_x) * channels_] : nullptr;
      for (size_t c = 0; c < channels_; ++c) *out++ = is_inside ? in[c] : 0;
    }
  }
  if (augmentation_.jitters()) change_colours(random, to);
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t c = i % channels_;
    to[i] = (to[i] - augmentation_.mean[c]) / augmentation_.deviation[c];
  }
}

// In random order, as torchvision's ColorJitter.
void AugmentedSource::change_colours(Prng& random, std::span<float> image) const {
  const auto factor = [&](float strength) {
    const double x = static_cast<double>(strength);
    return static_cast<float>(random.uniform(std::max(0.0, 1 - x), 1 + x));
  };
  const Augmentation& a = augmentation_;
  const float brightness = factor(a.brightness), contrast = factor(a.contrast), saturation = factor(a.saturation);
  const auto turn = static_cast<float>(random.uniform(-1, 1)) * a.hue;
  std::array<int, 4> order{0, 1, 2, 3};
  random.shuffle(order);
  for (const int change : order) {
    if (change == 0 && a.brightness > 0) adjust_brightness(image, brightness);
    if (change == 1 && a.contrast > 0) adjust_contrast(image, channels_, contrast);
    if (change == 2 && a.saturation > 0) adjust_saturation(image, channels_, saturation);
    if (change == 3 && a.hue > 0) adjust_hue(image, channels_, turn);
  }
}

Status AugmentedSource::mix(uint64_t index, Prng& random, const Example& to) {
  float label_bytes = 0, partner_bytes = 0;  // of an int32 each (example_source.h)
  COT_TRY(read_alone(index, random, to, to.features(), {&label_bytes, 1}));
  const bool is_cutmix = augmentation_.cutmix > 0 && (augmentation_.mixup <= 0 || random.below(2) == 1);
  const float alpha = is_cutmix ? augmentation_.cutmix : augmentation_.mixup;
  double lambda = beta_symmetric(random, static_cast<double>(alpha));
  const uint64_t partner = random.below(size());
  // The partner looks as it does in its own turn of this epoch.
  Prng partners = random_of(partner);
  COT_TRY(read_alone(partner, partners, to, partner_, {&partner_bytes, 1}));
  const std::span<float> image = to.features(), target = to.targets();
  if (is_cutmix) {
    const ImageBox box = cutmix_box(random, size_, lambda);
    for (size_t y = box.top; y < box.top + box.height; ++y) {
      const auto begin = static_cast<std::ptrdiff_t>((y * size_.width + box.left) * channels_);
      std::copy_n(partner_.begin() + begin, box.width * channels_, image.begin() + begin);
    }
    // The share that is left, not the one that was drawn: the box was cut at the image's edges (Yun et al. 2019).
    lambda = 1 - static_cast<double>(box.height * box.width) / static_cast<double>(size_.height * size_.width);
  } else {
    const auto own = static_cast<float>(lambda), other = static_cast<float>(1 - lambda);
    for (size_t i = 0; i < image.size(); ++i) image[i] = own * image[i] + other * partner_[i];
  }
  std::fill(target.begin(), target.end(), 0.0f);
  const std::array<std::pair<float, double>, 2> parts{{{label_bytes, lambda}, {partner_bytes, 1 - lambda}}};
  for (const auto& [bytes, part] : parts) {
    const auto label = std::bit_cast<int32_t>(bytes);
    if (label < 0 || static_cast<size_t>(label) >= target.size()) {
      return Error(ErrorCode::invalid_argument,
                   concat({"example ", index, " or ", partner, " has a label outside [0, ", target.size(), ")"}));
    }
    // Added: both examples may be of one class.
    target[static_cast<size_t>(label)] += static_cast<float>(part);
  }
  return {};
}

Result<std::optional<AugmentedSource>> augmented(ExampleSource& examples, const Model& model,
                                                 const Augmentation& augmentation, uint64_t seed) {
  if (augmentation == Augmentation{}) return std::optional<AugmentedSource>();
  const Shape* given = augmentation.resize_height > 0 ? examples.first_input_shape() : nullptr;
  COT_ASSIGN(AugmentedSource source,
             AugmentedSource::create(examples, given != nullptr ? *given : model.input_shape(), augmentation, seed));
  return std::optional(std::move(source));
}

Result<std::optional<AugmentedSource>> judged(ExampleSource& examples, const Model& model, const LossSettings& loss,
                                              std::string_view augment) {
  COT_ASSIGN(const Augmentation augmentation, augmentation_for(model, loss, augment));
  return augmented(examples, model, without_chance(augmentation), 0);
}

}  // namespace coterie
