#include "device_sdk/runtime/augment.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "base/random.h"

namespace coterie {
namespace {

constexpr uint32_t kPixelsMax = 1 << 14;  // of a side, and of the zeros around it

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "augmentation: " + what); }

template <typename T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What is before the separator, and what is behind it; nothing is behind it if there is none.
std::pair<std::string_view, std::string_view> split(std::string_view text, char separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<float> numbers_in(std::string_view text, bool& is_good) {
  std::vector<float> numbers;
  while (!text.empty()) {
    const auto [first, rest] = split(text, ':');
    const std::optional<float> number = number_in<float>(first);
    is_good = is_good && number && std::isfinite(*number);
    numbers.push_back(number.value_or(0));
    text = rest;
  }
  return numbers;
}

Status read_part(std::string_view part, Augmentation& into) {
  const auto [name, value] = split(part, '=');
  const auto expected = [&](const char* what) { return bad(std::string(what) + ", is " + std::string(part)); };
  if (name == "resize") {
    const auto [height, width] = split(value, 'x');
    into.resize_height = number_in<uint32_t>(height).value_or(0);
    into.resize_width = number_in<uint32_t>(width).value_or(0);
    const auto [least, most] = std::minmax(into.resize_height, into.resize_width);
    if (least < 1 || most > kPixelsMax) return expected("resize must be HEIGHTxWIDTH, each in [1, 16384]");
  } else if (name == "crop") {
    into.crop = number_in<uint32_t>(value).value_or(0);
    if (into.crop < 1 || into.crop > kPixelsMax) return expected("crop must be a number of pixels in [1, 16384]");
  } else if (part == "flip") {
    into.flip = true;
  } else if (name == "normalise") {
    const auto [mean, deviation] = split(value, '/');
    bool is_good = true;
    into.mean = numbers_in(mean, is_good);
    into.deviation = numbers_in(deviation, is_good);
    is_good = is_good && !into.mean.empty() && into.mean.size() == into.deviation.size();
    for (const float number : into.deviation) is_good = is_good && number > 0;
    if (!is_good) return expected("normalise must be MEAN/DEVIATION, as many of each, deviations above 0");
  } else {
    return bad("must be resize=HEIGHTxWIDTH, crop=PIXELS, flip or normalise=MEAN/DEVIATION, is " + std::string(part));
  }
  return {};
}

}  // namespace

Result<Augmentation> parse_augmentation(std::string_view text) {
  Augmentation augmentation;
  std::vector<std::string_view> seen;
  for (bool is_last = false; !is_last;) {
    const auto [part, rest] = split(text, ',');
    is_last = part.size() == text.size();
    const std::string_view name = split(part, '=').first;
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) return bad("has " + std::string(name) + " twice");
    COT_TRY(read_part(part, augmentation));
    seen.push_back(name);
    text = rest;
  }
  return augmentation;
}

Result<AugmentedSource> AugmentedSource::create(ExampleSource& base, const Shape& image,
                                                const Augmentation& augmentation, uint64_t seed) {
  if (image.size() != 3) {
    return bad("takes images of height x width x channels, these have " + std::to_string(image.size()) + " dimensions");
  }
  COT_ASSIGN(const uint64_t elements, element_count(image));
  AugmentedSource source(base, augmentation, seed);
  source.height_ = static_cast<size_t>(image[0]);
  source.width_ = static_cast<size_t>(image[1]);
  source.channels_ = static_cast<size_t>(image[2]);
  source.original_.resize(elements);
  if (augmentation.resize_height > 0) {
    const BilinearResize::Size to{augmentation.resize_height, augmentation.resize_width};
    source.resize_.emplace(BilinearResize::Size{source.height_, source.width_}, to, source.channels_);
    source.height_ = to.height;
    source.width_ = to.width;
    source.resized_.resize(to.height * to.width * source.channels_);
  }
  for (std::vector<float>* numbers : {&source.augmentation_.mean, &source.augmentation_.deviation}) {
    if (numbers->empty()) numbers->push_back(numbers == &source.augmentation_.mean ? 0.0f : 1.0f);
    if (numbers->size() == 1) numbers->resize(source.channels_, numbers->front());
    if (numbers->size() != source.channels_) {
      return bad("normalise has " + std::to_string(numbers->size()) + " numbers, the images have " +
                 std::to_string(source.channels_) + " channels");
    }
  }
  return source;
}

Shape AugmentedSource::image_shape() const {
  return {static_cast<int64_t>(height_), static_cast<int64_t>(width_), static_cast<int64_t>(channels_)};
}

void AugmentedSource::set_epoch(uint64_t epoch) {
  epoch_ = epoch;
  base_->set_epoch(epoch);
}

Status AugmentedSource::read(uint64_t index, const Example& to) {
  const size_t elements = height_ * width_ * channels_;
  if (to.input_count() < 1 || to.features().size() != elements) {
    return bad("gives images of " + std::to_string(elements) + " values, the model takes " +
               std::to_string(to.input_count() < 1 ? 0 : to.features().size()));
  }
  places_.assign(1, original_);
  for (size_t i = 1; i < to.input_count(); ++i) places_.push_back(to.features(i));
  COT_TRY(base_->read(index, Example(places_, to.targets())));
  if (resize_) resize_->run(original_, resized_);
  write(resize_ ? resized_ : original_, index, to.features());
  return {};
}

void AugmentedSource::write(std::span<const float> image, uint64_t index, std::span<float> to) const {
  Prng random = Prng::derived(Prng::derived(seed_, epoch_).next(), index);
  const size_t crop = augmentation_.crop;
  const size_t down = random.below(2 * crop + 1), right = random.below(2 * crop + 1);
  const bool is_flipped = augmentation_.flip && random.below(2) == 1;
  const float *mean = augmentation_.mean.data(), *deviation = augmentation_.deviation.data();
  float* out = to.data();
  for (size_t y = 0; y < height_; ++y) {
    for (size_t x = 0; x < width_; ++x) {
      // A place in the zeros above or left of the image becomes a huge number here, which is outside, too.
      const size_t from_y = y + down - crop;
      const size_t from_x = (is_flipped ? width_ - 1 - x : x) + right - crop;
      const bool is_inside = from_y < height_ && from_x < width_;
      const float* in = is_inside ? &image[(from_y * width_ + from_x) * channels_] : nullptr;
      for (size_t c = 0; c < channels_; ++c) *out++ = ((is_inside ? in[c] : 0) - mean[c]) / deviation[c];
    }
  }
}

}  // namespace coterie
