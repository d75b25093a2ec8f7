// RobustMean: what a robust rule makes of a round's rows (rule_rows.h), tile by tile, which the strategy gets as their
// mean. Memory is bounded by kWindowBytes of values, and by what a rule's distances take (64 bytes a pair of rows) and
// cosines (128 bytes a row).
#pragma once

#include <memory>
#include <vector>

#include "aggregation/robust/aggregation_settings.h"
#include "aggregation/robust/update_cosines.h"
#include "fl_server/finalize/mean_source.h"
#include "fl_server/finalize/rule_rows.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

class RobustMean final : public MeanSource {
 public:
  // Values of all rows that are in memory at a time.
  static constexpr uint64_t kWindowBytes = 32 << 20;

  // Measures what the rule needs of whole rows, which have `value_count` values each; `parameters` are those that count
  // for it, as padding is nobody's word and running statistics have another scale. `cosines` hears of the same ones
  // while they are read, and is complete behind the last value; null: nobody asks. Errors: those of rows. `aggregation`
  // has a rule, for which there are rows enough, and outlives this, as `parameters` and `cosines` do.
  static Result<RobustMean> of(std::unique_ptr<const RuleRows> rows, const AggregationSettings& aggregation,
                               uint64_t value_count, std::span<const ValueRange> parameters,
                               UpdateCosines* cosines = nullptr);

  const RoundTotals& totals() const override { return rows_->totals(); }
  Status read(std::span<float> mean) override;
  Result<std::vector<double>> peek(uint64_t first, uint64_t count) const override;
  // Rows are checked before there are any.
  Status verify() override { return {}; }

 private:
  // Values of all rows, one row behind the other.
  struct Window {
    uint64_t first = 0, count = 0;
    std::vector<float> values;
    std::vector<std::span<const float>> rows(uint64_t offset, uint64_t size) const;
  };

  RobustMean(std::unique_ptr<const RuleRows> rows, const AggregationSettings& aggregation, uint64_t value_count,
             std::span<const ValueRange> parameters, UpdateCosines* cosines)
      : rows_(std::move(rows)),
        aggregation_(aggregation),
        value_count_(value_count),
        parameters_(parameters),
        cosines_(cosines),
        weights_(rows_->weights()) {}

  Status choose();
  Status load(uint64_t first, Window& window) const;
  void make(const Window& window, uint64_t first, std::span<float> result) const;

  std::unique_ptr<const RuleRows> rows_;
  const AggregationSettings& aggregation_;
  uint64_t value_count_;
  std::span<const ValueRange> parameters_;
  UpdateCosines* cosines_;
  std::vector<double> weights_;  // of each row
  std::vector<double> shares_;   // of each, if the rule gives some
  uint64_t values_read_ = 0;
  Window window_;  // of read()
};

}  // namespace coterie
