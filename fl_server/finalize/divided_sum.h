// DividedSum: the mean itself, as a round's sum gives it.
#pragma once

#include <utility>

#include "fl_server/finalize/mean_source.h"
#include "fl_server/finalize/round_noise.h"
#include "fl_server/finalize/round_sum.h"

namespace coterie {

// peek() is without noise.
class DividedSum final : public MeanSource {
 public:
  // `noise` may be null, and outlives this.
  DividedSum(RoundSum sum, uint64_t divisor, const RoundNoise* noise)
      : sum_(std::move(sum)), divisor_(divisor), noise_(noise) {}

  const RoundTotals& totals() const override { return sum_.totals(); }
  Status read(std::span<float> mean) override { return sum_.read_mean(divisor_, noise_, mean); }
  Result<std::vector<double>> peek(uint64_t first, uint64_t count) const override {
    return sum_.peek_mean(first, count, divisor_);
  }
  Status verify() override { return sum_.verify(); }

 private:
  RoundSum sum_;
  uint64_t divisor_;
  const RoundNoise* noise_;
};

}  // namespace coterie
