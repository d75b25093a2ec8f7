// How a classifier answers, class by class, and whether it is as often right as it is sure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"
#include "tools/compare/statistics.h"

namespace coterie {

struct ClassScore {
  uint64_t examples = 0;   // labelled so
  uint64_t predicted = 0;  // said to be so
  uint64_t correct = 0;    // both

  double recall() const { return examples > 0 ? static_cast<double>(correct) / static_cast<double>(examples) : 0; }
  double precision() const { return predicted > 0 ? static_cast<double>(correct) / static_cast<double>(predicted) : 0; }
};

// Examples whose confidence, the probability of the class that is said, lies in one part of [0, 1].
struct ConfidenceBin {
  uint64_t examples = 0, correct = 0;
  double confidence_sum = 0;

  double confidence() const { return examples > 0 ? confidence_sum / static_cast<double>(examples) : 0; }
  double accuracy() const { return right().value().value_or(0); }
  SeenShare right() const { return {correct, examples}; }
};

// How far what is said of examples is from how often it is right.
struct ClassCalibration {
  double expected_error =
      0;  // the mean of |accuracy - confidence| over the bins, weighted by examples (Guo et al. 2017)
  double largest_error = 0;      // the largest of them (ibid.)
  double confidence_excess = 0;  // mean confidence less accuracy: above 0 the model is too sure
  double brier = 0;  // the mean of the squared distance of all probabilities from the label's (Brier 1950), in [0, 2]
};

// The class with the highest probability, the first of equals; none where one of them is no number: that is no answer.
std::optional<uint32_t> said_class(std::span<const double> probabilities);

// Pure: shown a row after the other.
class ClassAnswers {
 public:
  static constexpr size_t kBins = 15;  // of equal width

  explicit ClassAnswers(uint32_t classes) : classes_(classes), bins_(kBins) {}

  // `probabilities` has one for each class, `label` is below their count. Where there is no answer the example is
  // wrong, its confidence 0, and it is in no Brier score.
  void add(std::span<const double> probabilities, uint32_t label);

  std::span<const ClassScore> classes() const { return classes_; }
  std::span<const ConfidenceBin> bins() const { return bins_; }
  uint64_t examples() const { return examples_; }
  SeenShare right() const;  // of all
  uint64_t unanswered() const { return unanswered_; }
  // All 0 without an example.
  ClassCalibration calibration() const;

 private:
  std::vector<ClassScore> classes_;
  std::vector<ConfidenceBin> bins_;
  uint64_t examples_ = 0, unanswered_ = 0;
  double brier_sum_ = 0;
};

// How the scores of a classifier become probabilities.
enum class ScoreKind : uint8_t { logits, probabilities, logarithms };
// By the model's last op.
ScoreKind scores_of(const ModelGraph& graph);
void to_probabilities(std::span<const float> scores, ScoreKind kind, std::vector<double>& probabilities);

}  // namespace coterie
