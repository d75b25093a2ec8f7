// Pictures: decode_image, resize, centre_crop. Pixels are rounded where training rounds them (model_io).
#include <algorithm>
#include <cmath>

#include "fl_server/json/json_reader.h"
#include "fl_server/serving/serving_step.h"
#include "model_io/image_file.h"
#include "model_io/picture_pixels.h"

namespace coterie {
namespace {

constexpr uint64_t kPixelsMaxByDefault = 1 << 24;  // 16.7 million: of a phone's camera, and 0.8 GB at most to resize it
constexpr uint32_t kSideMax = 4096;                // of what a picture is resized to
constexpr uint64_t kBetweenMax = 1 << 26;          // numbers between a resize's two passes, and behind them: 256 MiB
constexpr size_t kRank = 3;                        // height, width, channels

std::string size_text(int64_t height, int64_t width) { return std::to_string(height) + " x " + std::to_string(width); }

bool is_picture(const ValueType& type) {
  return (type.type == ProtocolType::uint8 || type.type == ProtocolType::float32) && type.shape.size() == kRank &&
         type.shape[2] != kAnySize;
}
constexpr const char* kPicture = "a picture: UINT8 or FP32 [height,width,channels]";

ImageSize size_of(const Shape& shape) { return {static_cast<size_t>(shape[0]), static_cast<size_t>(shape[1])}; }

class DecodeImage final : public ServingStep {
 public:
  explicit DecodeImage(JsonReader& settings) {
    settings.read("channels", channels_);
    settings.read("pixels_max", pixels_max_);
    if (channels_ != 1 && channels_ != 3) settings.problem("channels", "must be 3, or 1 for grey");
    if (pixels_max_ < 1 || pixels_max_ > kPicturePixelsMax)
      settings.problem("pixels_max", "must be in [1, " + std::to_string(kPicturePixelsMax) + "]");
  }
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    if (from[0] != ValueType{ProtocolType::bytes, {}}) return wrong_type(from[0], "BYTES []: a JPEG or PNG file");
    return std::vector<StepPart>{{"", {ProtocolType::uint8, {kAnySize, kAnySize, static_cast<int64_t>(channels_)}}}};
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    COT_ASSIGN(Picture picture, decode_image(as_bytes(from[0].texts[0]), pixels_max_));
    to[0].shape = {picture.height, picture.width, static_cast<int64_t>(channels_)};
    to[0].pixels = std::move(picture.pixels);
    if (channels_ == 1) turn_grey(to[0].pixels);
    return {};
  }

 private:
  uint32_t channels_ = 3;
  uint64_t pixels_max_ = kPixelsMaxByDefault;
};

class Resize final : public ServingStep {
 public:
  explicit Resize(JsonReader& settings) {
    settings.read("height", height_);
    settings.read("width", width_);
    settings.read("shorter_side", shorter_side_);
    const bool has_both = height_ > 0 && width_ > 0, has_none = height_ == 0 && width_ == 0;
    if (shorter_side_ > 0 ? !has_none : !has_both)
      settings.problem("height", "and width, or shorter_side alone, must be at least 1");
    if (std::max({height_, width_, shorter_side_}) > kSideMax)
      settings.problem("height", "width and shorter_side must be at most " + std::to_string(kSideMax));
  }
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    if (!is_picture(from[0])) return wrong_type(from[0], kPicture);
    const Shape& shape = from[0].shape;
    Shape to{height_, width_, shape[2]};
    if (shorter_side_ > 0) to = {kAnySize, kAnySize, shape[2]};
    if (shorter_side_ > 0 && !has_any_size(shape)) {
      COT_ASSIGN(const ImageSize size, target(shape));
      to = {static_cast<int64_t>(size.height), static_cast<int64_t>(size.width), shape[2]};
    }
    return std::vector<StepPart>{{"", {from[0].type, std::move(to)}}};
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    const Shape& shape = *from[0].shape;
    const auto channels = static_cast<size_t>(shape[2]);
    COT_ASSIGN(const ImageSize size, target(shape));
    const uint64_t row = uint64_t{size.width} * channels;  // at most 2^12 * 2^31
    if (std::max<uint64_t>(static_cast<uint64_t>(shape[0]), size.height) > kBetweenMax / row) {
      return Error(ErrorCode::too_large, "is " + size_text(shape[0], shape[1]) +
                                             " pixels, too many to be made so large: send a smaller picture");
    }
    to[0].shape = {static_cast<int64_t>(size.height), static_cast<int64_t>(size.width), shape[2]};
    // As in training, a picture that has its size is left as it is.
    const bool is_same = to[0].shape == shape;
    if (from[0].type == ProtocolType::uint8) {
      to[0].pixels = is_same ? Bytes(from[0].pixels.begin(), from[0].pixels.end())
                             : resize_pixels(from[0].pixels, size_of(shape), size, channels);
      return {};
    }
    if (is_same) {
      to[0].words.assign(from[0].words.begin(), from[0].words.end());
      return {};
    }
    to[0].words.resize(size.height * size.width * channels);
    BilinearResize(size_of(shape), size, channels).run(from[0].words, to[0].words);
    return {};
  }

 private:
  // The longer side as torchvision has it: the whole part of side * longer / shorter.
  Result<ImageSize> target(const Shape& shape) const {
    if (shorter_side_ == 0) return ImageSize{height_, width_};
    const auto [shorter, longer] = std::minmax(shape[0], shape[1]);
    const int64_t side = shorter_side_, other = side * longer / shorter;
    if (other > kSideMax) {
      return Error(ErrorCode::too_large, "is " + size_text(shape[0], shape[1]) +
                                             " pixels, whose longer side would be " + std::to_string(other) +
                                             ", at most " + std::to_string(kSideMax));
    }
    const auto height = static_cast<size_t>(shape[0] == shorter ? side : other);
    return ImageSize{height, static_cast<size_t>(shape[0] == shorter ? other : side)};
  }

  uint32_t height_ = 0, width_ = 0, shorter_side_ = 0;
};

class CentreCrop final : public ServingStep {
 public:
  explicit CentreCrop(JsonReader& settings) {
    settings.read("height", height_);
    settings.read("width", width_);
    if (height_ < 1 || width_ < 1 || std::max(height_, width_) > kSideMax)
      settings.problem("height", "and width must be in [1, " + std::to_string(kSideMax) + "]");
  }
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    if (!is_picture(from[0])) return wrong_type(from[0], kPicture);
    const Shape& shape = from[0].shape;
    if ((shape[0] != kAnySize && shape[0] < height_) || (shape[1] != kAnySize && shape[1] < width_))
      return wrong_type(from[0], "a picture of at least " + size_text(height_, width_));
    return std::vector<StepPart>{{"", {from[0].type, {height_, width_, shape[2]}}}};
  }
  // As torchvision has it: the first row is (from - to) / 2, halves rounded to the even one.
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    const Shape& shape = *from[0].shape;
    if (shape[0] < height_ || shape[1] < width_) {
      return Error(ErrorCode::invalid_argument,
                   "is " + size_text(shape[0], shape[1]) + " pixels, expected at least " + size_text(height_, width_));
    }
    const auto first = [](int64_t size, int64_t kept) {
      return static_cast<size_t>(std::nearbyint(static_cast<double>(size - kept) / 2));
    };
    const auto channels = static_cast<size_t>(shape[2]), row = static_cast<size_t>(shape[1]) * channels;
    const size_t top = first(shape[0], height_), left = first(shape[1], width_);
    to[0].shape = {height_, width_, shape[2]};
    for (size_t y = top; y < top + height_; ++y) {
      const size_t begin = y * row + left * channels, count = width_ * channels;
      if (from[0].type == ProtocolType::uint8) {
        const ByteView line = from[0].pixels.subspan(begin, count);
        to[0].pixels.insert(to[0].pixels.end(), line.begin(), line.end());
      } else {
        const std::span<const float> line = from[0].words.subspan(begin, count);
        to[0].words.insert(to[0].words.end(), line.begin(), line.end());
      }
    }
    return {};
  }

 private:
  uint32_t height_ = 0, width_ = 0;
};

}  // namespace

StepResult make_picture_step(const std::string& kind, JsonReader& settings) {
  if (kind == "decode_image") return std::unique_ptr<ServingStep>(new DecodeImage(settings));
  if (kind == "resize") return std::unique_ptr<ServingStep>(new Resize(settings));
  if (kind == "centre_crop") return std::unique_ptr<ServingStep>(new CentreCrop(settings));
  return std::unique_ptr<ServingStep>();
}

}  // namespace coterie
