#include "tools/model_report/class_answers.h"

#include <algorithm>
#include <cmath>

namespace coterie {
ScoreKind scores_of(const ModelGraph& graph) {
  for (const OpInfo& op : graph.ops) {
    if (std::ranges::find(op.outputs, graph.output) == op.outputs.end()) continue;
    if (op.kind == OpKind::softmax) return ScoreKind::probabilities;
    if (op.kind == OpKind::log_softmax) return ScoreKind::logarithms;
  }
  return ScoreKind::logits;
}

void to_probabilities(std::span<const float> scores, ScoreKind kind, std::vector<double>& probabilities) {
  probabilities.assign(scores.begin(), scores.end());
  if (kind == ScoreKind::probabilities) return;
  const double highest = kind == ScoreKind::logits ? *std::ranges::max_element(probabilities) : 0;
  double sum = 0;
  for (double& value : probabilities) sum += value = std::exp(value - highest);
  if (kind == ScoreKind::logarithms) return;
  for (double& value : probabilities) value /= sum;
}

std::optional<uint32_t> said_class(std::span<const double> probabilities) {
  if (std::ranges::any_of(probabilities, [](double value) { return std::isnan(value); })) return std::nullopt;
  return static_cast<uint32_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

void ClassAnswers::add(std::span<const double> probabilities, uint32_t label) {
  const std::optional<uint32_t> said = said_class(probabilities);
  const bool is_correct = said == label;
  const double confidence = said ? std::clamp(probabilities[*said], 0.0, 1.0) : 0;
  ConfidenceBin& bin = bins_[std::min(kBins - 1, static_cast<size_t>(confidence * kBins))];
  ++examples_;
  ++classes_[label].examples;
  ++bin.examples;
  bin.correct += is_correct ? 1 : 0;
  bin.confidence_sum += confidence;
  if (!said) {
    ++unanswered_;
    return;
  }
  ++classes_[*said].predicted;
  classes_[*said].correct += is_correct ? 1 : 0;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const double distance = probabilities[i] - (i == label ? 1 : 0);
    brier_sum_ += distance * distance;
  }
}

SeenShare ClassAnswers::right() const {
  SeenShare right{.count = 0, .of = examples_};
  for (const ClassScore& score : classes_) right.count += score.correct;
  return right;
}

ClassCalibration ClassAnswers::calibration() const {
  if (examples_ == 0) return {};
  const auto examples = static_cast<double>(examples_);
  ClassCalibration made;
  for (const ConfidenceBin& bin : bins_) {
    if (bin.examples == 0) continue;
    const double share = static_cast<double>(bin.examples) / examples, excess = bin.confidence() - bin.accuracy();
    made.expected_error += share * std::fabs(excess);
    made.largest_error = std::max(made.largest_error, std::fabs(excess));
    made.confidence_excess += share * excess;
  }
  if (examples_ > unanswered_) made.brier = brier_sum_ / static_cast<double>(examples_ - unanswered_);
  return made;
}

}  // namespace coterie
