#include "tools/model_report/example_scores.h"

#include <cmath>
#include <limits>

#include "base/assert.h"

namespace coterie {

std::optional<ExampleScores> ExampleScores::of(const Model& model, const LossSettings& loss, uint64_t targets) {
  const Shape& output = model.output_shape();
  ExampleScores scores;
  scores.targets_ = targets;
  scores.is_of_numbers_ = loss.target == TargetKind::values;
  if (!scores.is_of_numbers_) scores.width_ = static_cast<size_t>(output.back());
  const bool has_classes = scores.width_ > 1 && (loss.kind == Loss::softmax_cross_entropy ||
                                                 loss.kind == Loss::negative_log_likelihood || output.size() == 1);
  if (!scores.is_of_numbers_ && !has_classes) return std::nullopt;
  if (targets == 0 || elements(output) != targets * scores.width_) return std::nullopt;
  scores.kind_ = scores_of(model.graph());
  return scores;
}

double ExampleScores::class_loss(std::span<const float> scores, uint32_t label) {
  to_probabilities(scores, kind_, probabilities_);
  if (width_ == 2 && targets_ == 1 && label < 2) {
    margins_[label].push_back(static_cast<double>(scores[1]) - static_cast<double>(scores[0]));
  }
  return -std::log(probabilities_[label]);
}

void ExampleScores::add(std::span<const float> outputs, std::span<const float> targets) {
  COT_ASSERT(targets.size() % targets_ == 0 && outputs.size() == targets.size() * width_);
  const auto* const labels = reinterpret_cast<const int32_t*>(targets.data());
  const auto rows = static_cast<double>(targets_);
  for (size_t first = 0; first < targets.size(); first += targets_) {
    double loss = 0, distance = 0;
    for (size_t i = first; i < first + targets_; ++i) {
      if (!is_of_numbers_) {
        loss += class_loss(outputs.subspan(i * width_, width_), static_cast<uint32_t>(labels[i]));
        continue;
      }
      const double off = std::fabs(static_cast<double>(outputs[i]) - static_cast<double>(targets[i]));
      distance += off;
      loss += off * off;
    }
    losses_.push_back(std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss / rows);
    if (is_of_numbers_) distances_.push_back(distance / rows);
  }
}

}  // namespace coterie
