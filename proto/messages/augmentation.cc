#include "proto/messages/augmentation.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/text/concat.h"
#include "base/text/number_from_chars.h"

namespace coterie {
namespace {

constexpr uint32_t kPixelsMax = 1 << 14;  // of a side, and of the zeros around it
constexpr float kJitterMax = 1, kHueMax = 0.5f, kAlphaMax = 100;
constexpr const char* kParts =
    "resize=HEIGHTxWIDTH, random_resized_crop=MIN:MAX, crop=PIXELS, flip, colour_jitter=BRIGHTNESS:CONTRAST:SATURATION:"
    "HUE, normalise=MEAN/DEVIATION, mixup=ALPHA or cutmix=ALPHA";

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"augmentation: ", what})); }

template <typename T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = number_from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What is before the separator, and what is behind it; nothing is behind it if there is none.
std::pair<std::string_view, std::string_view> split(std::string_view text, char separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

// Empty unless all of them are finite numbers.
std::vector<float> numbers_in(std::string_view text) {
  std::vector<float> numbers;
  for (bool is_last = false; !is_last;) {
    const auto [first, rest] = split(text, ':');
    is_last = first.size() == text.size();
    const std::optional<float> number = number_in<float>(first);
    if (!number || !std::isfinite(*number)) return {};
    numbers.push_back(*number);
    text = rest;
  }
  return numbers;
}

bool read_resize(std::string_view value, Augmentation& into) {
  const auto [height, width] = split(value, 'x');
  into.resize_height = number_in<uint32_t>(height).value_or(0);
  into.resize_width = number_in<uint32_t>(width).value_or(0);
  const auto [least, most] = std::minmax(into.resize_height, into.resize_width);
  return least >= 1 && most <= kPixelsMax;
}

bool read_scale(std::string_view value, Augmentation& into) {
  const std::vector<float> scale = numbers_in(value);
  if (scale.size() != 2 || !(scale[0] > 0 && scale[0] <= scale[1] && scale[1] <= 1)) return false;
  into.scale_min = scale[0], into.scale_max = scale[1];
  return true;
}

bool read_jitter(std::string_view value, Augmentation& into) {
  std::vector<float> strengths = numbers_in(value);
  if (strengths.empty() || strengths.size() > 4) return false;
  strengths.resize(4);
  const float most = *std::max_element(strengths.begin(), strengths.end());
  const float least = *std::min_element(strengths.begin(), strengths.end());
  if (!(least >= 0 && most > 0 && most <= kJitterMax && strengths[3] <= kHueMax)) return false;
  into.brightness = strengths[0], into.contrast = strengths[1], into.saturation = strengths[2], into.hue = strengths[3];
  return true;
}

bool read_normalise(std::string_view value, Augmentation& into) {
  const auto [mean, deviation] = split(value, '/');
  into.mean = numbers_in(mean);
  into.deviation = numbers_in(deviation);
  return !into.mean.empty() && into.mean.size() == into.deviation.size() &&
         std::all_of(into.deviation.begin(), into.deviation.end(), [](float x) { return x > 0; });
}

bool read_alpha(std::string_view value, float& into) {
  into = number_in<float>(value).value_or(0);
  return into > 0 && into <= kAlphaMax;
}

Status read_part(std::string_view part, Augmentation& into) {
  const auto [name, value] = split(part, '=');
  const auto require = [&](bool is_good, const char* what) -> Status {
    if (is_good) return {};
    return bad(concat({what, ", is ", part}));
  };
  if (name == "resize") return require(read_resize(value, into), "resize must be HEIGHTxWIDTH, each in [1, 16384]");
  if (name == "random_resized_crop") {
    return require(read_scale(value, into), "random_resized_crop must be MIN:MAX, parts of the area, in (0, 1]");
  }
  if (name == "crop") {
    into.crop = number_in<uint32_t>(value).value_or(0);
    return require(into.crop >= 1 && into.crop <= kPixelsMax, "crop must be a number of pixels in [1, 16384]");
  }
  if (part == "flip") {
    into.flip = true;
    return {};
  }
  if (name == "colour_jitter") {
    return require(read_jitter(value, into),
                   "colour_jitter must be BRIGHTNESS:CONTRAST:SATURATION:HUE, each in [0, 1], hue in [0, 0.5], and not "
                   "all 0");
  }
  if (name == "normalise") {
    return require(read_normalise(value, into),
                   "normalise must be MEAN/DEVIATION, as many of each, deviations above 0");
  }
  if (name == "mixup") return require(read_alpha(value, into.mixup), "mixup must be a number in (0, 100]");
  if (name == "cutmix") return require(read_alpha(value, into.cutmix), "cutmix must be a number in (0, 100]");
  return bad(concat({"must be ", kParts, ", is ", part}));
}

}  // namespace

Result<Augmentation> parse_augmentation(std::string_view text) {
  if (text.size() > kAugmentBytesMax) {
    return bad(concat({"has ", text.size(), " bytes, at most ", kAugmentBytesMax}));
  }
  Augmentation augmentation;
  std::vector<std::string_view> seen;
  for (bool is_last = false; !is_last;) {
    const auto [part, rest] = split(text, ',');
    is_last = part.size() == text.size();
    const std::string_view name = split(part, '=').first;
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) return bad(concat({"has ", name, " twice"}));
    COT_TRY(read_part(part, augmentation));
    seen.push_back(name);
    text = rest;
  }
  return augmentation;
}

Augmentation without_chance(const Augmentation& augmentation) {
  Augmentation rest;
  rest.resize_height = augmentation.resize_height;
  rest.resize_width = augmentation.resize_width;
  rest.mean = augmentation.mean;
  rest.deviation = augmentation.deviation;
  return rest;
}

}  // namespace coterie
