// CohortWorkers: who trains the devices of a round. Threads of one process (cohort_trainer.h), or of several ranks
// (ranked_cohort.h): the sum has the same bits, as it is of integers modulo 2^64.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregation/accumulate/accumulator.h"
#include "base/result.h"
#include "scheduler/job/records.h"

namespace coterie {

struct VirtualTraining;  // cohort_trainer.h
using CohortWork = std::vector<VirtualTraining>;

class CohortWorkers {
 public:
  virtual ~CohortWorkers() = default;
  // Adds the updates of all of them to `sum`. Errors: cancelled; those of training, naming the device.
  virtual Result<RoundTotals> train(const CohortWork& work, Accumulator& sum) = 0;
  // What each update says of its training, of whom train() was for last, in their order.
  virtual std::vector<RoundTotals> totals() const = 0;
  // As RoundRecord has it, of whom train() was for last.
  virtual uint64_t examples_median() const = 0;
  // What became of the round that was trained last: only one that is done moves what its devices keep.
  virtual void round_is_done() = 0;
};

}  // namespace coterie
