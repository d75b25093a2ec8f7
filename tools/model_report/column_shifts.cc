#include "tools/model_report/column_shifts.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;

class ShiftedColumn final : public ExampleSource {
 public:
  ShiftedColumn(ExampleSource& source, size_t place, float by) : source_(source), place_(place), by_(by) {}
  uint64_t size() const override { return source_.size(); }
  const Shape* first_input_shape() const override { return source_.first_input_shape(); }
  Status read(uint64_t index, const Example& to) override {
    COT_TRY(source_.read(index, to));
    to.features()[place_] += by_;
    return {};
  }

 private:
  ExampleSource& source_;
  size_t place_;
  float by_;
};

// The standard deviation of each column over all examples (divisor n), by Welford's recurrence.
Result<std::vector<double>> deviations(const Model& model, ExampleSource& examples, std::span<const Feature> columns,
                                       uint64_t target_elements) {
  std::vector<double> means(columns.size()), squares(columns.size());
  std::vector<float> input(elements(model.input_shape())), target(target_elements);
  const Example::Place place = input;
  for (uint64_t i = 0; i < examples.size(); ++i) {
    COT_TRY(examples.read(i, Example(std::span(&place, 1), target)));
    for (size_t column = 0; column < columns.size(); ++column) {
      const auto value = static_cast<double>(input[columns[column].first]);
      const double off = value - means[column];
      means[column] += off / static_cast<double>(i + 1);
      squares[column] += off * (value - means[column]);
    }
  }
  for (double& square : squares) square = std::sqrt(square / static_cast<double>(examples.size()));
  return squares;
}

}  // namespace

Result<std::vector<ColumnShift>> shifted_columns(const Model& model, const LossSettings& loss, ExampleSource& examples,
                                                 std::span<const Feature> columns, uint64_t target_elements,
                                                 uint32_t threads) {
  columns = columns.first(std::min(columns.size(), kShiftedColumnsMax));
  COT_ASSIGN(const std::vector<double> spread, deviations(model, examples, columns, target_elements));
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, loss, kBatch, limits::kArenaBytesMax, threads));
  std::vector<ColumnShift> made;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!(spread[i] > 0)) continue;  // nor what is no number
    const auto by = static_cast<float>(kColumnShift * spread[i]);
    ShiftedColumn up(examples, columns[i].first, by), down(examples, columns[i].first, -by);
    COT_ASSIGN(const Evaluation above, evaluator.run(model.parameters(), up));
    COT_ASSIGN(const Evaluation below, evaluator.run(model.parameters(), down));
    made.push_back({columns[i].name,
                    spread[i],
                    {.examples = above.examples,
                     .loss_mean = (above.loss_mean + below.loss_mean) / 2,
                     .accuracy = (above.accuracy + below.accuracy) / 2}});
  }
  std::ranges::stable_sort(made, std::greater<>(), [](const ColumnShift& shift) {
    return std::isnan(shift.evaluation.loss_mean) ? HUGE_VAL : shift.evaluation.loss_mean;
  });
  return made;
}

}  // namespace coterie
