#include "tools/model_report/disturbances.h"

#include <algorithm>

#include "base/random.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;
constexpr uint32_t kNoisePercents[] = {5, 10, 20, 40};
constexpr int64_t kShiftsPixels[] = {1, 2, 3};

class NoisyExamples final : public ExampleSource {
 public:
  NoisyExamples(ExampleSource& source, double share, uint64_t seed) : source_(source), share_(share), seed_(seed) {}
  uint64_t size() const override { return source_.size(); }
  const Shape* first_input_shape() const override { return source_.first_input_shape(); }
  Status read(uint64_t index, const Example& to) override {
    COT_TRY(source_.read(index, to));
    const auto [low, high] = std::ranges::minmax(to.features());
    const double deviation = share_ * (static_cast<double>(high) - static_cast<double>(low));
    Prng prng = Prng::derived(seed_, index);
    for (float& value : to.features()) value += static_cast<float>(deviation * prng.normal());
    return {};
  }

 private:
  ExampleSource& source_;
  double share_;
  uint64_t seed_;
};

class ShiftedExamples final : public ExampleSource {
 public:
  ShiftedExamples(ExampleSource& source, const Shape& image, int64_t down, int64_t right)
      : source_(source), height_(image[0]), width_(image[1]), channels_(image[2]), down_(down), right_(right) {}
  uint64_t size() const override { return source_.size(); }
  const Shape* first_input_shape() const override { return source_.first_input_shape(); }
  Status read(uint64_t index, const Example& to) override {
    COT_TRY(source_.read(index, to));
    whole_.assign(to.features().begin(), to.features().end());
    size_t at = 0;
    for (int64_t y = 0; y < height_; ++y) {
      for (int64_t x = 0; x < width_; ++x) {
        const int64_t from_y = std::clamp<int64_t>(y - down_, 0, height_ - 1);
        const int64_t from_x = std::clamp<int64_t>(x - right_, 0, width_ - 1);
        const auto from = static_cast<size_t>((from_y * width_ + from_x) * channels_);
        for (size_t c = 0; c < static_cast<size_t>(channels_); ++c) to.features()[at++] = whole_[from + c];
      }
    }
    return {};
  }

 private:
  ExampleSource& source_;
  int64_t height_, width_, channels_, down_, right_;
  std::vector<float> whole_;
};

}  // namespace

Result<std::vector<Disturbance>> disturbed(const Model& model, const LossSettings& loss, ExampleSource& examples,
                                           uint32_t threads, uint64_t seed) {
  if (model.graph().inputs.size() != 1 || model.input_type() != DataType::float32) {
    return Error(ErrorCode::invalid_argument, "inputs can be disturbed of models with one input, of numbers");
  }
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, loss, kBatch, limits::kArenaBytesMax, threads));
  std::vector<Disturbance> made;
  for (const uint32_t percent : kNoisePercents) {
    NoisyExamples noisy(examples, percent / 100.0, seed);
    COT_ASSIGN(const Evaluation evaluation, evaluator.run(model.parameters(), noisy));
    made.push_back({"noise of " + std::to_string(percent) + " % of the range", evaluation});
  }
  if (model.input_shape().size() != 3) return made;
  for (const int64_t pixels : kShiftsPixels) {
    Evaluation mean;
    for (const auto& [down, right] : {std::pair(pixels, int64_t{0}), {-pixels, 0}, {0, pixels}, {0, -pixels}}) {
      ShiftedExamples shifted(examples, model.input_shape(), down, right);
      COT_ASSIGN(const Evaluation evaluation, evaluator.run(model.parameters(), shifted));
      mean.examples = evaluation.examples;
      mean.loss_mean += evaluation.loss_mean / 4;
      mean.accuracy += evaluation.accuracy / 4;
    }
    made.push_back({"shifted by " + std::to_string(pixels) + (pixels == 1 ? " pixel" : " pixels"), mean});
  }
  return made;
}

}  // namespace coterie
