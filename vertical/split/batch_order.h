// BatchOrder: which rows a step has, the same at both parties: consecutive ones of an order that is drawn anew for each
// epoch, from what both know.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "vertical/split/split_settings.h"

namespace coterie::vertical {

class BatchOrder {
 public:
  // `name`: the same at both parties, of this job alone. No secret.
  BatchOrder(const SplitSettings& settings, uint32_t rows, const Digest& name);

  uint32_t steps() const { return steps_an_epoch_ * epochs_; }
  uint32_t steps_an_epoch() const { return steps_an_epoch_; }
  uint32_t rows_of(uint32_t step) const;
  // The same until the next call.
  std::span<const uint32_t> rows(uint32_t step);

 private:
  uint32_t rows_, batch_, epochs_, steps_an_epoch_;
  bool shuffle_;
  uint64_t seed_ = 0;
  uint32_t epoch_ = ~0u;  // of the order below
  std::vector<uint32_t> order_;
};

}  // namespace coterie::vertical
