// MeanSource: what a round's updates come to, tile by tile, and what the job's strategy gets as their mean.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "scheduler/job/records.h"

namespace coterie {

class MeanSource {
 public:
  virtual ~MeanSource() = default;

  virtual const RoundTotals& totals() const = 0;
  // The next mean.size() values: RoundSum::kTileValues (round_sum.h) or what is left.
  virtual Status read(std::span<float> mean) = 0;
  // Values before their turn; read() gives them again.
  virtual Result<std::vector<double>> peek(uint64_t first, uint64_t count) const = 0;
  // After the last value: data_loss unless what was read has the digests that it is named by.
  virtual Status verify() = 0;
};

}  // namespace coterie
