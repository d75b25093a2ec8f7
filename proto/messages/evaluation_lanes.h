// What EvaluationRules mean: the lanes of the table, and how far one device moves each of them.
//
// A device looks at `values_max` of its examples at most, drawn at random where it has more, and each model answers
// them. A table has, for each model, in this order:
//
//   moments       of all examples, then of each group, then of examples in no group (only where there are groups):
//                 whether the device has any such example, and, each in digits to the base 64, the lowest first,
//                   n, y, n^2, n y, y^2, l, n l, l^2
//                 of its n examples, y of which the model has right, with the summed loss l
//   confusion     classes x (classes + 1) counts, by the example's class and by the model's; the last one: no answer
//   scores        of each class, or of the second one where there are two: 2 x score_bins counts, by the bin of the
//                 class's probability, and by whether the example is of it (the second half) or not
//   accuracies    kAccuracyBins, in one of which the device is, by its own share of right answers
//
// and, where two models are compared, in one of 2 kDifferenceSteps + 1 lanes the device's difference of accuracies,
// before - new, cut to +-harm_max and rounded up or down at random, so that its mean is the difference.
//
// With importance the lanes of importance_lanes.h are behind all of these.
//
// **A device is one draw.** Moments say how far devices differ, squares and products included; nothing else of a table
// does. They are exact sums of integers: a digit's sum has the room that a count has.
//
// **No lane takes more of one device than it may be worth.** What a device adds to a lane is a multiple of the lane's
// unit, and the most that it may add is lane_max everywhere: a count of examples has the unit 1, a digit lane_max / 63,
// what is there once a device has lane_max. So the bound that an update's values have is the bound of each lane.
#pragma once

#include <cstdint>
#include <span>

#include "base/problem.h"
#include "proto/messages/analytics.h"
#include "proto/messages/digit_lanes.h"
#include "proto/messages/importance_lanes.h"

namespace coterie {

inline constexpr size_t kEvaluatedModelsMax = 2;
inline constexpr uint64_t kEvaluatedModelBytesMax = 1ull << 34;
inline constexpr uint32_t kEvaluatedClassesMax = 64, kEvaluationGroupsMax = 64;
inline constexpr uint32_t kScoreBinsMax = 1'024;
inline constexpr uint32_t kAccuracyBins = 20;
inline constexpr int32_t kDifferenceSteps = 20;  // from no difference to harm_max
// A loss is a multiple of 1 / kLossUnits, and counts as kLossMax where it is more, or no number.
inline constexpr uint32_t kLossUnits = 256, kLossMax = 16;

// What a model has made of so many examples of one device. `loss` in units.
struct ScoredExamples {
  uint64_t examples = 0, correct = 0, loss = 0;
};

// The lanes of a device's moments in the order above.
enum class Moment : uint8_t { n, y, nn, ny, yy, l, nl, ll };
inline constexpr size_t kMoments = 8;

// The rules are valid.
class EvaluationLayout {
 public:
  explicit EvaluationLayout(const AnalyticsRules& rules);

  uint64_t lanes() const { return evaluation_lanes() + importance_.lanes(); }
  size_t models() const { return models_; }
  // Blocks of moments: one, or that, one a group, and one of no group.
  size_t groups() const { return groups_; }
  size_t scored_classes() const { return score_bins_ == 0 ? 0 : classes_ == 2 ? 1 : classes_; }
  // Which class it is; `index` below scored_classes().
  uint32_t scored_class(size_t index) const { return classes_ == 2 ? 1 : static_cast<uint32_t>(index); }

  // Places of lanes; `group` is below groups().
  uint64_t devices(size_t model, size_t group) const { return model * model_lanes_ + group * moment_lanes_; }
  uint64_t digits(size_t model, size_t group, Moment moment) const;  // the lowest; the others are behind it
  uint32_t digit_count(Moment moment) const { return digit_counts_[static_cast<size_t>(moment)]; }
  uint64_t confusion(size_t model, uint32_t of_class, uint32_t predicted) const;
  uint64_t score(size_t model, size_t index, bool is_of_class, uint32_t bin) const;
  uint64_t accuracy(size_t model, uint32_t bin) const { return accuracies_ + model * model_lanes_ + bin; }
  uint64_t difference(int32_t step) const;  // in [-kDifferenceSteps, kDifferenceSteps]
  DigitRange rises(size_t column, RiseMoment moment) const;
  const ImportanceLayout& importance() const { return importance_; }

  float digit_unit() const { return digit_unit_; }
  float device_unit() const { return device_unit_; }
  // The norm of the longest vector that one device may add.
  double l2_sensitivity() const;

 private:
  uint64_t evaluation_lanes() const { return models_ * model_lanes_ + (models_ == 2 ? difference_lanes() : 0); }
  static uint64_t difference_lanes() { return 2 * static_cast<uint64_t>(kDifferenceSteps) + 1; }

  uint64_t models_, classes_, groups_, score_bins_, values_max_;
  uint32_t digit_counts_[kMoments] = {};
  uint64_t moment_lanes_ = 1, confusion_ = 0, scores_ = 0, accuracies_ = 0, model_lanes_ = 0;
  float digit_unit_, device_unit_;
  ImportanceLayout importance_;
};

// What a device adds for its examples; nothing where there are none.
void put_moments(const EvaluationLayout& layout, size_t model, size_t group, const ScoredExamples& scored,
                 std::span<float> lanes);
// The bin of a device that has so many of its examples right; `examples` is above 0.
uint32_t accuracy_bin(uint64_t examples, uint64_t correct);

// What a table has in them, in counts and whole numbers.
double devices_in(const EvaluationLayout& layout, size_t model, size_t group, std::span<const float> table);
double moment_in(const EvaluationLayout& layout, size_t model, size_t group, Moment moment,
                 std::span<const float> table);

// What a lane takes of one device at most, with so many examples: lane_max of such rules.
uint32_t evaluation_lane_max(uint32_t values_max);

// All that is wrong with what rules of kind evaluation have of their own, each under its pointer within `analytics`.
Problems evaluation_problems(const AnalyticsRules& rules);

}  // namespace coterie
