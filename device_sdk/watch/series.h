// What the checks of a training as a whole remember: bounded, whatever the training's length. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace coterie {

// The loss by windows of so many steps.
class LossWindows {
 public:
  struct Window {
    double loss = 0, first = 0;    // means over the window, and over the first of all
    std::optional<double> before;  // over the one in front
  };

  explicit LossWindows(uint64_t steps) : steps_(steps) {}
  // Behind each step: its mean loss times its examples, and their number. A window, where one ends.
  std::optional<Window> add(double loss_sum, uint64_t examples);

 private:
  uint64_t steps_, taken_ = 0, examples_ = 0;
  double sum_ = 0;
  std::optional<double> first_, before_;
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
