// What the checks of a training as a whole remember: bounded, whatever the training's length. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace coterie {

// Whether a loss runs away before there are windows to compare: at the steps 32, 64, 128 and so on, the least loss of
// the last quarter of all steps so far is above twice the mean of their first quarter. If single losses are distributed
// exponentially, as with a batch of 1, chance alone brings that about in one training of 6,000.
class RunawayLoss {
 public:
  static constexpr uint64_t kStepsMin = 32;
  static constexpr double kRatio = 2;

  struct Rise {
    double before = 0, least = 0;  // the mean of the first quarter, and the least loss of the last
  };

  // Behind each step: its mean loss.
  std::optional<Rise> add(double loss);

 private:
  uint64_t step_ = 0, power_ = kStepsMin;              // it is told at a power of two
  double total_ = 0, quarter_ = 0, half_ = 0;          // of all steps, and up to a quarter and half of the power
  double least_ = std::numeric_limits<double>::max();  // of the last quarter
};

// The loss by windows of so many steps.
class LossWindows {
 public:
  struct Window {
    double loss = 0, first = 0;    // means over the window, and over the first of all
    std::optional<double> before;  // over the one in front
  };
  // In the first window, which has none in front of it, a rise is told as one: `loss` is the least of the last quarter,
  // `before` and `first` are the mean of the first.

  explicit LossWindows(uint64_t steps) : steps_(steps) {}
  // Behind each step: its mean loss times its examples, and their number. A window, where one ends.
  std::optional<Window> add(double loss_sum, uint64_t examples);

 private:
  uint64_t steps_, taken_ = 0, examples_ = 0;
  double sum_ = 0;
  std::optional<double> first_, before_;
  RunawayLoss runaway_;
};

// The last so many norms.
class NormHistory {
 public:
  struct Usual {
    double median = 0, deviation = 0;  // the median of |norm - median|
    uint64_t norms = 0;
  };

  explicit NormHistory(uint64_t looks) : looks_(looks) {}
  // What those in front of it were; then the norm is one of them. One that is not finite is not kept.
  Usual add(double norm);

 private:
  uint64_t looks_, next_ = 0;
  std::vector<double> norms_, sorted_;
};

// Windows of 20 examples a class differ by about .13 by chance alone, where classes are balanced; in smaller ones
// chance looks like drift.
constexpr uint64_t label_window(uint64_t classes) { return classes > 50 ? 20 * classes : 1000; }

// The labels by windows of so many examples.
class LabelCounts {
 public:
  LabelCounts(uint64_t classes, uint64_t examples) : examples_(examples), before_(classes), now_(classes) {}
  // Labels that are no class are not counted. The distance (check.h) of a window to all in front of it, where one ends
  // that is not the first.
  std::optional<double> add(std::span<const int32_t> labels);

 private:
  uint64_t examples_, seen_before_ = 0, seen_now_ = 0;
  std::vector<uint64_t> before_, now_;
};

}  // namespace coterie
