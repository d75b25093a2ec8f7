// Numbers: scale, normalise, cast, reshape, softmax, sigmoid.
#include <algorithm>
#include <bit>
#include <cmath>

#include "device_sdk/runtime/byte_numbers.h"
#include "fl_server/json/json_reader.h"
#include "fl_server/serving/serving_step.h"

namespace coterie {
namespace {

constexpr double kWordMin = -2147483648.0, kWordMax = 2147483647.0;

bool is_number(const ValueType& type) { return type.type != ProtocolType::bytes; }

double number_of(const ValueView& from, size_t i) {
  switch (from.type) {
    case ProtocolType::int32: return std::bit_cast<int32_t>(from.words[i]);
    case ProtocolType::float64: return from.doubles[i];
    case ProtocolType::uint8: return from.pixels[i];
    default: return static_cast<double>(from.words[i]);
  }
}

std::vector<StepPart> one(ProtocolType type, const Shape& shape) { return {{"", {type, shape}}}; }

// value * factor + offset, of bytes in the very words of training (byte_numbers.h).
class Scale final : public ServingStep {
 public:
  explicit Scale(JsonReader& settings) {
    settings.read("factor", factor_);
    settings.read("offset", offset_);
  }
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    if (!is_number(from[0])) return wrong_type(from[0], "numbers: UINT8, INT32, FP32 or FP64");
    return one(ProtocolType::float32, from[0].shape);
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    const size_t count = elements_of(*from[0].shape);
    to[0].shape = *from[0].shape;
    to[0].words.resize(count);
    if (from[0].type == ProtocolType::uint8) {
      numbers_of_bytes(from[0].pixels, factor_, offset_, to[0].words);
      return {};
    }
    for (size_t i = 0; i < count; ++i) {
      const double value = number_of(from[0], i) * static_cast<double>(factor_) + static_cast<double>(offset_);
      to[0].words[i] = static_cast<float>(value);
    }
    return {};
  }

 private:
  float factor_ = 1, offset_ = 0;
};

// (value - mean) / deviation, by the last dimension.
class Normalise final : public ServingStep {
 public:
  explicit Normalise(JsonReader& settings) {
    settings.require("mean");
    settings.require("deviation");
    settings.read("mean", mean_);
    settings.read("deviation", deviation_);
    if (mean_.size() != deviation_.size()) settings.problem("deviation", "must have as many numbers as mean");
    if (std::ranges::any_of(deviation_, [](float deviation) { return !(deviation > 0); }))
      settings.problem("deviation", "must have numbers above 0");
  }
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    const bool fits = from[0].type == ProtocolType::float32 && !from[0].shape.empty() &&
                      from[0].shape.back() == static_cast<int64_t>(mean_.size());
    if (!fits) return wrong_type(from[0], "FP32 [...," + std::to_string(mean_.size()) + "]: a mean for each channel");
    return one(ProtocolType::float32, from[0].shape);
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    to[0].shape = *from[0].shape;
    to[0].words.reserve(from[0].words.size());
    for (size_t i = 0; i < from[0].words.size(); ++i) {
      const size_t channel = i % mean_.size();
      to[0].words.push_back((from[0].words[i] - mean_[channel]) / deviation_[channel]);
    }
    return {};
  }

 private:
  std::vector<float> mean_, deviation_;
};

// To FP32 as C++ rounds; to INT32 whole numbers alone.
class Cast final : public ServingStep {
 public:
  explicit Cast(JsonReader& settings) {
    constexpr std::string_view kTypes[] = {"FP32", "INT32"};
    size_t index = 0;
    settings.require("datatype");
    settings.read_choice("datatype", kTypes, index);
    type_ = index == 0 ? ProtocolType::float32 : ProtocolType::int32;
  }
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    if (!is_number(from[0])) return wrong_type(from[0], "numbers: UINT8, INT32, FP32 or FP64");
    return one(type_, from[0].shape);
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    const size_t count = elements_of(*from[0].shape);
    to[0].shape = *from[0].shape;
    to[0].words.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const double value = number_of(from[0], i);
      if (type_ == ProtocolType::float32) {
        to[0].words.push_back(static_cast<float>(value));
        continue;
      }
      if (!(value >= kWordMin && value <= kWordMax) || value != std::floor(value))
        return Error(ErrorCode::invalid_argument, "has " + std::to_string(value) + ", expected whole numbers of INT32");
      to[0].words.push_back(std::bit_cast<float>(static_cast<int32_t>(value)));
    }
    return {};
  }

 private:
  ProtocolType type_ = ProtocolType::float32;
};

class Reshape final : public ServingStep {
 public:
  explicit Reshape(JsonReader& settings) : shape_(read_shape(settings, "shape", false)) { settings.require("shape"); }
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    if (has_any_size(from[0].shape) || elements_of(from[0].shape) != elements_of(shape_))
      return wrong_type(from[0], "as many elements as " + shown_type({from[0].type, shape_}));
    return one(from[0].type, shape_);
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    to[0].shape = shape_;
    to[0].words.assign(from[0].words.begin(), from[0].words.end());
    to[0].doubles.assign(from[0].doubles.begin(), from[0].doubles.end());
    to[0].pixels.assign(from[0].pixels.begin(), from[0].pixels.end());
    to[0].texts.assign(from[0].texts.begin(), from[0].texts.end());
    return {};
  }

 private:
  Shape shape_;
};

// Over the last dimension: exp(x - max), divided by their sum.
class Softmax final : public ServingStep {
 public:
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    if (from[0].type != ProtocolType::float32 || from[0].shape.empty())
      return wrong_type(from[0], "FP32 [...,classes]");
    return one(ProtocolType::float32, from[0].shape);
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    to[0].shape = *from[0].shape;
    const auto width = static_cast<size_t>(from[0].shape->back());
    std::vector<double> powers(width);
    for (size_t row = 0; row < from[0].words.size(); row += width) {
      const std::span<const float> scores = from[0].words.subspan(row, width);
      const float largest = *std::ranges::max_element(scores);
      double sum = 0;
      for (size_t i = 0; i < width; ++i)
        sum += powers[i] = std::exp(static_cast<double>(scores[i]) - static_cast<double>(largest));
      for (const double power : powers) to[0].words.push_back(static_cast<float>(power / sum));
    }
    return {};
  }
};

class Sigmoid final : public ServingStep {
 public:
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    if (from[0].type != ProtocolType::float32) return wrong_type(from[0], "FP32");
    return one(ProtocolType::float32, from[0].shape);
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    to[0].shape = *from[0].shape;
    for (const float value : from[0].words)
      to[0].words.push_back(static_cast<float>(1 / (1 + std::exp(-static_cast<double>(value)))));
    return {};
  }
};

}  // namespace

StepResult make_number_step(const std::string& kind, JsonReader& settings) {
  if (kind == "scale") return std::unique_ptr<ServingStep>(new Scale(settings));
  if (kind == "normalise") return std::unique_ptr<ServingStep>(new Normalise(settings));
  if (kind == "cast") return std::unique_ptr<ServingStep>(new Cast(settings));
  if (kind == "reshape") return std::unique_ptr<ServingStep>(new Reshape(settings));
  if (kind == "softmax") return std::unique_ptr<ServingStep>(new Softmax());
  if (kind == "sigmoid") return std::unique_ptr<ServingStep>(new Sigmoid());
  return std::unique_ptr<ServingStep>();
}

}  // namespace coterie
