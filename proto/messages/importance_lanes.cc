#include "proto/messages/importance_lanes.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "proto/messages/evaluation_lanes.h"

namespace coterie {
namespace {

// Twice the largest rise of either sign, squared, has to be a whole number of 64 bits.
static_assert(kColumnAnswersMax * kLossMax * kLossUnits * 2 <= 1ull << 32);

struct Offset {
  uint64_t number;  // of an example
  RiseMoment y, ny, yy;
};

RiseMoments rises_in(const EvaluationLayout& layout, size_t column, const Offset& offset,
                     std::span<const float> table) {
  const auto sum_of = [&](RiseMoment moment) {
    const DigitRange at = layout.rises(column, moment);
    return digits_of_all(table.subspan(at.first, at.count), layout.digit_unit());
  };
  const double n = moment_in(layout, 0, 0, Moment::n, table), nn = moment_in(layout, 0, 0, Moment::nn, table);
  const auto c = static_cast<double>(offset.number);
  const double y = sum_of(offset.y), ny = sum_of(offset.ny), yy = sum_of(offset.yy);
  return {.y = y - c * n, .ny = ny - c * nn, .yy = std::max(0.0, yy - 2 * c * ny + c * c * nn)};
}

}  // namespace

ImportanceLayout::ImportanceLayout(const AnalyticsRules& rules) {
  if (!rules.evaluation->importance) return;
  const ImportanceRules& own = *rules.evaluation->importance;
  columns_ = own.columns.size();
  errors_offset_ = own.repeats;
  loss_offset_ = errors_offset_ * kLossMax * kLossUnits;
  const uint64_t n = rules.values_max, l = 2 * loss_offset_ * n, e = 2 * errors_offset_ * n;
  const uint64_t most[kRiseMoments] = {l, n * l, l * l, e, n * e, e * e};
  for (size_t i = 0; i < kRiseMoments; ++i) column_lanes_ += digit_counts_[i] = digits_for(most[i]);
}

DigitRange ImportanceLayout::digits(size_t column, RiseMoment moment) const {
  COT_ASSERT(column < columns_);
  uint64_t first = column * column_lanes_;
  for (size_t i = 0; i < static_cast<size_t>(moment); ++i) first += digit_counts_[i];
  return {.first = first, .count = digit_counts_[static_cast<size_t>(moment)]};
}

void put_rises(const EvaluationLayout& layout, size_t column, uint64_t examples, const RiseSums& rises,
               std::span<float> lanes) {
  if (examples == 0) return;
  const ImportanceLayout& own = layout.importance();
  const uint64_t l = static_cast<uint64_t>(rises.loss) + examples * own.loss_offset();
  const uint64_t e = static_cast<uint64_t>(rises.errors) + examples * own.errors_offset();
  const uint64_t values[kRiseMoments] = {l, examples * l, l * l, e, examples * e, e * e};
  for (size_t i = 0; i < kRiseMoments; ++i) {
    const DigitRange at = layout.rises(column, static_cast<RiseMoment>(i));
    put_digits(values[i], layout.digit_unit(), lanes.subspan(at.first, at.count));
  }
}

RiseMoments loss_rises_in(const EvaluationLayout& layout, size_t column, std::span<const float> table) {
  return rises_in(layout, column, {layout.importance().loss_offset(), RiseMoment::l, RiseMoment::nl, RiseMoment::ll},
                  table);
}

RiseMoments error_rises_in(const EvaluationLayout& layout, size_t column, std::span<const float> table) {
  return rises_in(layout, column, {layout.importance().errors_offset(), RiseMoment::e, RiseMoment::ne, RiseMoment::ee},
                  table);
}

Problems importance_problems(const AnalyticsRules& rules) {
  const EvaluationRules& evaluation = *rules.evaluation;
  if (!evaluation.importance) return {};
  const ImportanceRules& own = *evaluation.importance;
  Problems problems;
  const auto require = [&](bool condition, const char* pointer, const std::string& detail) {
    if (!condition) problems.push_back({pointer, detail});
  };
  require(!evaluation.compares(), "/importance", "must be absent with `before`: it is of one model");
  const size_t columns = own.columns.size();
  require(columns >= 1 && columns <= kImportanceColumnsMax, "/importance/columns",
          "must be 1 to " + std::to_string(kImportanceColumnsMax) + " columns");
  const bool fits = std::ranges::all_of(own.columns, [&](const PermutedColumn& column) {
    return column.width >= 1 && uint64_t{column.feature} + column.width <= rules.input_values;
  });
  require(fits, "/importance/columns",
          "must have one number or more each, all of them within the " + std::to_string(rules.input_values) +
              " of an example");
  const bool has_repeats = own.repeats >= 1 && own.repeats <= kImportanceRepeatsMax;
  require(has_repeats, "/importance/repeats", "must be in [1, " + std::to_string(kImportanceRepeatsMax) + "]");
  if (!problems.empty()) return problems;
  const uint64_t values = rules.values_max, of_column = values * own.repeats;
  require(of_column <= kColumnAnswersMax, "/importance/repeats",
          "must leave values_max * repeats at most " + std::to_string(kColumnAnswersMax) + ", is " +
              std::to_string(of_column));
  const uint64_t answers = of_column * columns + values;
  require(answers <= kImportanceAnswersMax, "/importance/columns",
          "must leave a device at most " + std::to_string(kImportanceAnswersMax) +
              " answers of the model, values_max * (columns * repeats + 1), are " + std::to_string(answers));
  require(values * rules.input_values <= kKeptNumbersMax, "/importance",
          "must leave values_max * input_values at most " + std::to_string(kKeptNumbersMax) +
              ", which a device holds in memory, is " + std::to_string(values * rules.input_values));
  return problems;
}

}  // namespace coterie
