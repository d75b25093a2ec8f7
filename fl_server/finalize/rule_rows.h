// RuleRows: what a robust rule compares in a round, one vector a row: its updates (kept_rows.h), or the means of its
// cohorts (cohort_rows.h). Their order follows from what they hold, so that the bits of a rule's sums do not depend on
// which came first.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "scheduler/job/records.h"

namespace coterie {

class RuleRows {
 public:
  virtual ~RuleRows() = default;

  virtual const RoundTotals& totals() const = 0;
  // How long the round's updates are, where each of its partial sums says it.
  virtual std::optional<NormHistogram> norms() const { return std::nullopt; }
  virtual std::vector<double> weights() const = 0;  // of each row, above 0
  // The row's values first, first + 1, ..., all finite. data_loss if one is not.
  virtual Status load(size_t row, uint64_t first, std::span<float> values) const = 0;
};

}  // namespace coterie
