// How a classifier answers, class by class, and whether it is as often right as it is sure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"

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
  double accuracy() const { return examples > 0 ? static_cast<double>(correct) / static_cast<double>(examples) : 0; }
};

// Pure: shown a row after the other.
class ClassAnswers {
 public:
  static constexpr size_t kBins = 15;  // of equal width

  explicit ClassAnswers(uint32_t classes) : classes_(classes), bins_(kBins) {}

  // `probabilities` has one for each class, `label` is below their count. The first of equals is said.
  void add(std::span<const double> probabilities, uint32_t label);

  std::span<const ClassScore> classes() const { return classes_; }
  std::span<const ConfidenceBin> bins() const { return bins_; }
  uint64_t examples() const { return examples_; }
  // The mean of |accuracy - confidence| over the bins, weighted by their examples (Guo et al. 2017); 0 without any.
  double expected_calibration_error() const;

 private:
  std::vector<ClassScore> classes_;
  std::vector<ConfidenceBin> bins_;
  uint64_t examples_ = 0;
};

// What an Evaluator shows its outputs to, so that `answers` sees them; it must outlive the sink. The model has one row
// of at least two scores an example, and the data labels. Scores become probabilities by softmax, unless the model's
// last op made them such already. Errors: invalid_argument (another output).
Result<OutputSink> class_sink(const Model& model, const LossSettings& loss, ClassAnswers& answers);

}  // namespace coterie
