#include "device_sdk/agent/evaluate_examples.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/random.h"
#include "device_sdk/runtime/evaluation_fit.h"
#include "proto/messages/analytics_lanes.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 16;
constexpr uint64_t kDifferenceStream = 0x64696666;  // "diff": no other draw of the seed has this name

uint64_t loss_units(double loss) { return static_cast<uint64_t>(loss * kLossUnits + 0.5); }

}  // namespace

Result<ExampleEvaluator> ExampleEvaluator::create(const AnalyticsRules& rules, std::span<const Model> models,
                                                  uint64_t size, uint64_t seed) {
  std::vector<Predictor> predictors;
  for (const Model& model : models) {
    COT_TRY(check_evaluated(rules, model));
    COT_ASSIGN(Predictor predictor, Predictor::create(model, kBatch));
    predictors.push_back(std::move(predictor));
  }
  return ExampleEvaluator(rules, std::move(predictors), size, seed);
}

ExampleEvaluator::ExampleEvaluator(const AnalyticsRules& rules, std::vector<Predictor> models, uint64_t size,
                                   uint64_t seed)
    : rules_(rules),
      layout_(rules),
      models_(std::move(models)),
      seed_(seed),
      drawn_(drawn_examples(size, rules.values_max, seed)),
      scored_(layout_.models() * layout_.groups()),
      lanes_(layout_.lanes()),
      inputs_(uint64_t{kBatch} * rules.input_values),
      outputs_(uint64_t{kBatch} * rules.evaluation->classes),
      shares_(rules.evaluation->classes) {
  if (rules.evaluation->importance) permuted_.emplace(rules, drawn_.size(), seed);
}

bool ExampleEvaluator::finished() const { return done_ == drawn_.size() && (!permuted_ || permuted_->finished()); }

Status ExampleEvaluator::step(ExampleSource& examples) {
  if (done_ < drawn_.size()) COT_TRY(answer_next(examples));
  else COT_TRY(permuted_->step(models_.front(), kBatch));
  if (finished()) finish();
  return {};
}

Status ExampleEvaluator::answer_next(ExampleSource& examples) {
  const size_t count = std::min<size_t>(kBatch, drawn_.size() - done_);
  const size_t classes = rules_.evaluation->classes;
  float targets[kBatch] = {};
  uint32_t labels[kBatch] = {};
  for (size_t i = 0; i < count; ++i) {
    const uint64_t index = drawn_[done_ + i];
    COT_TRY(check_has(examples, index));
    const Example::Place places[] = {std::span(inputs_).subspan(i * rules_.input_values, rules_.input_values)};
    const Example example(places, {&targets[i], 1});
    COT_TRY(examples.read(index, example));
    const int32_t label = example.labels()[0];
    if (label < 0 || static_cast<size_t>(label) >= classes) {
      return Error(ErrorCode::conflict, "examples: number " + std::to_string(index) + " has class " +
                                            std::to_string(label) + ", and there are " + std::to_string(classes));
    }
    labels[i] = static_cast<uint32_t>(label);
  }
  const std::span<const float> inputs = std::span(inputs_).first(count * rules_.input_values);
  for (size_t model = 0; model < models_.size(); ++model) {
    const std::span<float> outputs = std::span(outputs_).first(count * classes);
    COT_TRY(models_[model].run({&inputs, 1}, count, outputs));
    for (size_t i = 0; i < count; ++i) {
      const auto own = inputs.subspan(i * rules_.input_values, rules_.input_values);
      const size_t group = rules_.categories > 0 ? 1 + category_of(rules_, own, targets[i]) : 0;
      const ExampleAnswer answer = answer_of(outputs.subspan(i * classes, classes), labels[i], shares_);
      add(model, labels[i], group, answer);
      if (permuted_) permuted_->keep(own, labels[i], answer);
    }
  }
  done_ += count;
  return {};
}

void ExampleEvaluator::add(size_t model, uint32_t label, size_t group, const ExampleAnswer& answer) {
  lanes_[layout_.confusion(model, label, answer.predicted)] += 1;
  const uint32_t bins = rules_.evaluation->score_bins;
  for (size_t index = 0; index < layout_.scored_classes(); ++index) {
    const uint32_t scored = layout_.scored_class(index);
    const auto bin = std::min(bins - 1, static_cast<uint32_t>(shares_[scored] * bins));
    lanes_[layout_.score(model, index, label == scored, bin)] += 1;
  }
  const ScoredExamples one{
      .examples = 1, .correct = answer.predicted == label ? 1u : 0u, .loss = loss_units(answer.loss)};
  const auto count = [&](size_t block) {
    ScoredExamples& all = scored_[model * layout_.groups() + block];
    all = {all.examples + one.examples, all.correct + one.correct, all.loss + one.loss};
  };
  count(0);
  if (group > 0) count(group);
}

void ExampleEvaluator::finish() {
  for (size_t model = 0; model < layout_.models(); ++model) {
    for (size_t group = 0; group < layout_.groups(); ++group) {
      put_moments(layout_, model, group, scored_[model * layout_.groups() + group], lanes_);
    }
    const ScoredExamples& all = scored_[model * layout_.groups()];
    lanes_[layout_.accuracy(model, accuracy_bin(all.examples, all.correct))] = layout_.device_unit();
  }
  if (permuted_) {
    for (size_t column = 0; column < permuted_->rises().size(); ++column) {
      put_rises(layout_, column, drawn_.size(), permuted_->rises()[column], lanes_);
    }
  }
  if (layout_.models() < 2) return;
  const ScoredExamples &before = scored_[0], &after = scored_[layout_.groups()];
  const auto examples = static_cast<double>(before.examples);
  const double harm = (static_cast<double>(before.correct) - static_cast<double>(after.correct)) / examples;
  const double steps =
      std::clamp(harm / static_cast<double>(rules_.evaluation->harm_max), -1.0, 1.0) * kDifferenceSteps;
  const double below = std::floor(steps);
  // Rounded up or down by chance: the mean over devices is that of the exact values.
  const bool up = Prng::derived(seed_, kDifferenceStream).uniform() < steps - below;
  lanes_[layout_.difference(static_cast<int32_t>(below) + (up ? 1 : 0))] = layout_.device_unit();
}

}  // namespace coterie
