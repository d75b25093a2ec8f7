// RankedCohort: the devices of a round, shared out to ranks. Each rank trains its own with the threads of its process;
// then lanes and totals are added up, and each rank has the whole round's.
//
// A device that keeps a state from round to round is always of the same rank, where its state is. Others are dealt out
// in turn. Totals are added in the order of the devices, so that floating-point sums have the same bits with any number
// of ranks, too.
#pragma once

#include <vector>

#include "tools/simulate/cohort_trainer.h"
#include "tools/simulate/ranks.h"

namespace coterie {

class RankedCohort final : public CohortWorkers {
 public:
  // Both outlive this. The sums are RingSums: updates that are kept one by one are of one process.
  RankedCohort(CohortTrainer& own, Ranks& ranks) : own_(&own), ranks_(&ranks) {}

  // Errors: as CohortWorkers, of several ranks the lowest one's; those of Ranks.
  Result<RoundTotals> train(const CohortWork& work, Accumulator& sum) override;
  std::vector<RoundTotals> totals() const override { return totals_; }
  uint64_t examples_median() const override;
  void round_is_done() override { own_->round_is_done(); }

 private:
  bool is_own(const CohortWork& work, size_t index) const;

  CohortTrainer* own_;
  Ranks* ranks_;
  std::vector<RoundTotals> totals_;  // of each device of the round
};

}  // namespace coterie
