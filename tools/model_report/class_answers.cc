#include "tools/model_report/class_answers.h"

#include <algorithm>
#include <cmath>

namespace coterie {
namespace {

enum class Scores : uint8_t { logits, probabilities, logarithms };

Scores scores_of(const ModelGraph& graph) {
  for (const OpInfo& op : graph.ops) {
    if (std::ranges::find(op.outputs, graph.output) == op.outputs.end()) continue;
    if (op.kind == OpKind::softmax) return Scores::probabilities;
    if (op.kind == OpKind::log_softmax) return Scores::logarithms;
  }
  return Scores::logits;
}

void to_probabilities(std::span<const float> row, Scores scores, std::vector<double>& probabilities) {
  probabilities.assign(row.begin(), row.end());
  if (scores == Scores::probabilities) return;
  const double highest = scores == Scores::logits ? *std::ranges::max_element(probabilities) : 0;
  double sum = 0;
  for (double& value : probabilities) sum += value = std::exp(value - highest);
  if (scores == Scores::logarithms) return;
  for (double& value : probabilities) value /= sum;
}

}  // namespace

void ClassAnswers::add(std::span<const double> probabilities, uint32_t label) {
  const auto said = static_cast<uint32_t>(std::ranges::max_element(probabilities) - probabilities.begin());
  const bool is_correct = said == label;
  // What is not finite is no confidence.
  const double confidence = std::isfinite(probabilities[said]) ? std::clamp(probabilities[said], 0.0, 1.0) : 0;
  ConfidenceBin& bin = bins_[std::min(kBins - 1, static_cast<size_t>(confidence * kBins))];
  ++examples_;
  ++classes_[label].examples;
  ++classes_[said].predicted;
  classes_[said].correct += is_correct ? 1 : 0;
  ++bin.examples;
  bin.correct += is_correct ? 1 : 0;
  bin.confidence_sum += confidence;
}

double ClassAnswers::expected_calibration_error() const {
  double sum = 0;
  for (const ConfidenceBin& bin : bins_) {
    sum += std::fabs(bin.accuracy() - bin.confidence()) * static_cast<double>(bin.examples);
  }
  return examples_ > 0 ? sum / static_cast<double>(examples_) : 0;
}

Result<OutputSink> class_sink(const Model& model, const LossSettings& loss, ClassAnswers& answers) {
  const Shape& output = model.output_shape();
  if (output.size() != 1 || output[0] < 2 || loss.target != TargetKind::labels) {
    return Error(ErrorCode::invalid_argument, "is no classifier: one row of scores an example, and labels");
  }
  const auto width = static_cast<size_t>(output[0]);
  return OutputSink([&answers, width, scores = scores_of(model.graph()), probabilities = std::vector<double>()](
                        std::span<const float> outputs, std::span<const float> targets) mutable {
    const auto* const labels = reinterpret_cast<const int32_t*>(targets.data());
    for (size_t i = 0; i < targets.size(); ++i) {
      to_probabilities(outputs.subspan(i * width, width), scores, probabilities);
      answers.add(probabilities, static_cast<uint32_t>(labels[i]));
    }
  });
}

}  // namespace coterie
