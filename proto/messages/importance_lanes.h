// What ImportanceRules mean: the lanes that they add behind those of an evaluation, and what a device's work is bounded
// by.
//
// A device has looked at n examples, which the model answers as they are. For each column it draws `repeats` orders of
// its examples, gives each example the column's values of another one, and has the model answer all of them again. An
// order r makes the loss rise by L_r - L, of sums over the n examples, where an example counts as kLossMax at most
// (evaluation_lanes.h), and the errors by Y - Y_r, of how many it has right. With
//
//   l = sum of L_r - L over the orders, once rounded to 1 / kLossUnits        e = sum of Y - Y_r, a whole number
//
// the table has for each column, in digits to the base 64,
//
//   l', n l', l'^2, e', n e', e'^2        l' = l + n * repeats * kLossMax,   e' = e + n * repeats
//
// None of them is negative, as no example's rise is below -kLossMax, or -1: that is how a device's figures are clipped.
// Who knows the sums of n and n^2, which the evaluation has, takes what was added off again, and has the moments of a
// ratio over devices: the mean rise of an example, weighted by examples, and how far devices differ in it.
#pragma once

#include <cstdint>
#include <span>

#include "base/problem.h"
#include "proto/messages/analytics.h"
#include "proto/messages/digit_lanes.h"

namespace coterie {

class EvaluationLayout;

inline constexpr size_t kImportanceColumnsMax = 256;
inline constexpr uint32_t kImportanceRepeatsMax = 32;
inline constexpr uint64_t kColumnAnswersMax = 1ull << 18;      // values_max * repeats: of it follow the largest squares
inline constexpr uint64_t kImportanceAnswersMax = 1ull << 22;  // of a device, to all columns
inline constexpr uint64_t kKeptNumbersMax = 1ull << 24;        // values_max * input_values: 64 MiB of a device's memory

enum class RiseMoment : uint8_t { l, nl, ll, e, ne, ee };
inline constexpr size_t kRiseMoments = 6;

// What a device adds for one column. The loss in units of 1 / kLossUnits.
struct RiseSums {
  int64_t loss = 0, errors = 0;
  friend bool operator==(const RiseSums&, const RiseSums&) = default;
};

// The rules are valid.
class ImportanceLayout {
 public:
  // Without importance there are no columns.
  explicit ImportanceLayout(const AnalyticsRules& rules);

  size_t columns() const { return columns_; }
  uint64_t lanes() const { return columns_ * column_lanes_; }
  // Counted from the first lane behind those of the evaluation: EvaluationLayout::rises has the table's.
  DigitRange digits(size_t column, RiseMoment moment) const;
  // What is added to l and e for each example that the device looked at, so that none is negative.
  uint64_t loss_offset() const { return loss_offset_; }
  uint64_t errors_offset() const { return errors_offset_; }

 private:
  uint64_t columns_ = 0, column_lanes_ = 0, loss_offset_ = 0, errors_offset_ = 0;
  uint32_t digit_counts_[kRiseMoments] = {};
};

// What a device adds of a column for so many examples; nothing where there are none. Precondition: the sums are within
// what so many examples give.
void put_rises(const EvaluationLayout& layout, size_t column, uint64_t examples, const RiseSums& rises,
               std::span<float> lanes);

// A table's moments of a column with the offsets taken off: of l in units and of e, as sums over the orders.
struct RiseMoments {
  double y = 0, ny = 0, yy = 0;
};
RiseMoments loss_rises_in(const EvaluationLayout& layout, size_t column, std::span<const float> table);
RiseMoments error_rises_in(const EvaluationLayout& layout, size_t column, std::span<const float> table);

// All that is wrong with the importance of rules of kind evaluation, each under its pointer within `analytics`.
Problems importance_problems(const AnalyticsRules& rules);

}  // namespace coterie
