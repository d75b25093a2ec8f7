#include "tools/model_report/adversarial.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "tools/model_report/answer_sink.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;
constexpr double kShares[] = {0.01, 0.02, 0.05, 0.1};

// Some examples of a source, each moved by `share` of its range in a direction of its own.
class MovedExamples final : public ExampleSource {
 public:
  MovedExamples(ExampleSource& source, uint64_t count, bool is_image)
      : source_(source), count_(count), is_image_(is_image) {}
  // `signs` has one for each value of each example, and outlives the reading.
  void move(double share, std::span<const int8_t> signs) {
    share_ = share;
    signs_ = signs;
  }

  uint64_t size() const override { return count_; }
  const Shape* first_input_shape() const override { return source_.first_input_shape(); }
  Status read(uint64_t index, const Example& to) override {
    COT_TRY(source_.read(index * source_.size() / count_, to));
    if (share_ == 0) return {};
    const std::span<float> values = to.features();
    const auto [least, most] = std::ranges::minmax(values);
    const auto step = static_cast<float>(share_ * (static_cast<double>(most) - static_cast<double>(least)));
    for (size_t i = 0; i < values.size(); ++i) {
      const float moved = values[i] + step * static_cast<float>(signs_[index * values.size() + i]);
      values[i] = is_image_ ? std::clamp(moved, least, most) : moved;
    }
    return {};
  }

 private:
  ExampleSource& source_;
  uint64_t count_;
  bool is_image_;
  double share_ = 0;
  std::span<const int8_t> signs_;
};

// The gradient of the loss by the outputs, times what makes its largest magnitude 1.
void loss_gradient(std::span<const float> outputs, std::span<const float> target, const LossSettings& loss,
                   ScoreKind kind, std::span<float> gradient) {
  std::ranges::fill(gradient, 0.0f);
  if (loss.target == TargetKind::values) {
    const float off = outputs[0] - target[0];
    gradient[0] = static_cast<float>((off > 0) - (off < 0));
    return;
  }
  const auto label = static_cast<size_t>(reinterpret_cast<const int32_t*>(target.data())[0]);
  gradient[label] = -1;
  if (kind != ScoreKind::logits) return;  // the op behind the logits shares it out
  // By logits it is p - y. Divided by 1 - p(label), the others' p are a softmax among themselves, which never vanishes.
  double highest = -HUGE_VAL, sum = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i != label) highest = std::max(highest, static_cast<double>(outputs[i]));
  }
  const auto share = [&](size_t i) { return std::exp(static_cast<double>(outputs[i]) - highest); };
  for (size_t i = 0; i < outputs.size(); ++i) sum += i == label ? 0 : share(i);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i != label) gradient[i] = static_cast<float>(share(i) / sum);
  }
}

// The sign of each value of each example's gradient, one behind the other.
Result<std::vector<int8_t>> directions(AskedModel& model, const LossSettings& loss, ExampleSource& examples) {
  const ScoreKind kind = scores_of(model.model().graph());
  const size_t width = model.outputs(), values = model.input_size();
  std::vector<int8_t> signs;
  signs.reserve(examples.size() * values);
  std::vector<float> inputs, targets, gradients;
  for (uint64_t from = 0; from < examples.size(); from += kBatch) {
    const uint64_t count = std::min<uint64_t>(kBatch, examples.size() - from);
    inputs.resize(count * values);
    targets.resize(count);
    gradients.resize(count * width);
    for (uint64_t i = 0; i < count; ++i) {
      const Example::Place place = std::span(inputs).subspan(i * values, values);
      COT_TRY(examples.read(from + i, Example(std::span(&place, 1), std::span(targets).subspan(i, 1))));
    }
    COT_ASSIGN(const std::vector<float> outputs, model.answers(inputs));
    for (uint64_t i = 0; i < count; ++i) {
      loss_gradient(std::span(outputs).subspan(i * width, width), std::span(targets).subspan(i, 1), loss, kind,
                    std::span(gradients).subspan(i * width, width));
    }
    COT_ASSIGN(const std::vector<float> slopes, model.gradients(inputs, gradients));
    for (const float slope : slopes) signs.push_back(static_cast<int8_t>((slope > 0) - (slope < 0)));
  }
  return signs;
}

}  // namespace

Result<AdversarialSteps> adversarial_steps(AskedModel& model, const LossSettings& loss, ExampleSource& examples,
                                           uint32_t threads, uint64_t seed) {
  if (!is_classifier(model.model(), loss) && !says_a_number(model.model(), loss)) {
    return Error(ErrorCode::invalid_argument, "the model has neither classes nor one number to say");
  }
  const uint64_t values = model.input_size();
  const uint64_t count =
      std::min({examples.size(), kAttackedExamplesMax, std::max<uint64_t>(1, kAttackedValuesMax / values)});
  MovedExamples moved(examples, count, model.input_shape().size() == 3);
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model.model(), loss, kBatch, limits::kArenaBytesMax, threads));
  AdversarialSteps made;
  // First: it refuses labels out of range.
  COT_ASSIGN(made.unmoved, evaluator.run(model.model().parameters(), moved));
  COT_ASSIGN(const std::vector<int8_t> signs, directions(model, loss, moved));
  std::vector<int8_t> random(signs.size());
  Prng prng(seed);
  for (int8_t& sign : random) sign = prng.below(2) == 0 ? -1 : 1;
  for (const double share : kShares) {
    AdversarialStep step{.share = share};
    moved.move(share, signs);
    COT_ASSIGN(step.by_gradient, evaluator.run(model.model().parameters(), moved));
    moved.move(share, random);
    COT_ASSIGN(step.at_random, evaluator.run(model.model().parameters(), moved));
    made.steps.push_back(step);
  }
  return made;
}

}  // namespace coterie
