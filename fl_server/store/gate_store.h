// GateStore: how many devices of an attempt met which gate (scheduler/selection/told_gates.h), as each life of a node
// has told it last: numbers alone. Errors and threads: job_store.h.
#pragma once

#include <vector>

#include "base/result.h"
#include "fl_server/records/round_why.h"

namespace coterie {

class GateStore {
 public:
  virtual ~GateStore() = default;

  // In the place of what this life has said of the attempt before. Nothing, if there is no such attempt: it is
  // forgotten. The rows go with the attempt's (RetentionStore::forget_rounds, forget_job).
  virtual Status keep_gates(const RoundKey& key, const GateRow& row) = 0;
  // By life.
  virtual Result<std::vector<GateRow>> list_gates(const RoundKey& key) = 0;
};

}  // namespace coterie
