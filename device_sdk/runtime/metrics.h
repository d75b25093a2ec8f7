// Metrics: how good predictions are, beside their loss. They are shown row after row, and asked at the end.
//
// Pure: the same rows in the same order give the same numbers. The definitions are scikit-learn's (sklearn.metrics).
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace coterie {

// Means over the classes that occur, as labels or as predictions; a quotient by 0 is 0
// (precision_recall_fscore_support with average="macro", zero_division=0).
struct MacroScores {
  double precision = 0;  // of the rows told to be of a class, those that are
  double recall = 0;     // of the rows of a class, those told to be
  double f1 = 0;         // the mean of each class's harmonic mean of the two
};

// Measures of rows of scores, one score a class, against the class of each row.
class ClassMetrics {
 public:
  // Counts a row as correct in top_k_accuracy() if its class is among the `top_k` largest scores. classes and top_k at
  // least 1.
  ClassMetrics(uint32_t classes, uint32_t top_k);

  // `scores` has a number for each class, `label` is below their count. The first of equal scores is the larger; NaN is
  // smaller than every number.
  void add(std::span<const float> scores, uint32_t label);

  uint64_t rows() const { return rows_; }
  double accuracy() const;  // 0 without rows, as the others
  double top_k_accuracy() const;
  MacroScores macro() const;
  // The area under the ROC curve: how likely a row of class 1 has a higher scores[1] - scores[0] than one of class 0,
  // ties counting half (Mann and Whitney 1947). Nothing unless there are two classes, both among the labels, and no
  // score was NaN. Keeps 8 bytes a row.
  std::optional<double> auc() const;

 private:
  struct Ranked {
    float score;
    uint32_t label;
  };
  uint32_t top_k_;
  uint64_t rows_ = 0, correct_ = 0, correct_in_top_ = 0;
  std::vector<uint64_t> labelled_, predicted_, agreed_;  // per class
  std::vector<Ranked> ranked_;                           // with two classes
};

// Measures of numbers against the numbers they should be.
class ValueMetrics {
 public:
  void add(float predicted, float expected);

  uint64_t values() const { return values_; }
  double mean_absolute_error() const;      // 0 without values
  double root_mean_squared_error() const;  // likewise
  // The coefficient of determination (r2_score): 1 less the squared error's part of the expected values' variance. 0 is
  // as good as their mean, below 0 is worse. Nothing if they are all the same.
  std::optional<double> r2() const;

 private:
  uint64_t values_ = 0;
  double absolute_sum_ = 0, squared_sum_ = 0;
  double expected_mean_ = 0, expected_squares_ = 0;  // about that mean (Welford 1962)
};

// Perplexity of a language model with this mean cross entropy, in nats: how many equally likely choices are as hard.
inline double perplexity(double loss_mean) { return std::exp(loss_mean); }

}  // namespace coterie
