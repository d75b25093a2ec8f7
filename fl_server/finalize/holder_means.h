// HolderMeans: the means of a job whose updates are each of a part of the values: of one cluster
// (proto/messages/model_clusters.h), or of what a width has (proto/messages/model_widths.h), with zeros in all others.
// Scalars behind them say of which part. All is in one exact sum, of which each value gets the mean over those devices
// that hold it:
//
//   sum of n_i delta_i of those that hold it  =  mean of the value / mean of the scalar
//   ----------------------------------------
//   sum of n_i of those that hold it
//
// Values that nobody holds have a mean of 0, and do not move: neither do their vectors of the strategy. That is where
// the weight is below half a device's least: what is less is no device's, and lies alone make it. And no quotient is
// more than a value of an update may be, as no mean of such values is: whoever lies about what they hold moves a
// divisor by their own weight at most, and a step by no more than that.
#pragma once

#include <memory>
#include <vector>

#include "fl_server/finalize/mean_source.h"
#include "proto/messages/model_widths.h"
#include "proto/messages/plan.h"

namespace coterie {

struct HeldValues {
  ValueRange values;  // of an update
  double share = 1;   // of the round's weight that those have who hold them; 0: nobody does
};

// Rising, and apart. What is in none of them is held by all; none of a job without clusters and widths. `blocks`: of a
// job with widths, as places in an update. Where what is told of a width is less than of a narrower share of it can be,
// somebody lies, and the larger divisor counts.
Result<std::vector<HeldValues>> held_values(const MeanSource& mean, const Plan& plan,
                                            const std::vector<WidthBlock>& blocks);

class HolderMeans final : public MeanSource {
 public:
  // `source` was not read from yet. `value_abs_max`: of an update.
  HolderMeans(std::unique_ptr<MeanSource> source, std::vector<HeldValues> held, float value_abs_max)
      : source_(std::move(source)), held_(std::move(held)), value_abs_max_(static_cast<double>(value_abs_max)) {}

  const RoundTotals& totals() const override { return source_->totals(); }
  Status read(std::span<float> mean) override;
  Result<std::vector<double>> peek(uint64_t first, uint64_t count) const override;
  Status verify() override { return source_->verify(); }

 private:
  template <typename Value>
  void divide(uint64_t first, std::span<Value> means) const;

  std::unique_ptr<MeanSource> source_;
  std::vector<HeldValues> held_;
  double value_abs_max_;
  uint64_t at_ = 0;
};

}  // namespace coterie
