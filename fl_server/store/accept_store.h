// AcceptStore: who is counted in an attempt of a round, and the partial sums that hold their updates: what exactly-once
// rests on. Errors and threads: job_store.h, but for accept_batch, whose outcome says it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "fl_server/records/batch.h"

namespace coterie {

class AcceptStore {
 public:
  virtual ~AcceptStore() = default;

  // One transaction: the partial's row and a row for every device, if the round is collecting this attempt. Repeating
  // the same partial id is BatchDone. If any device has a row already, nothing is written: BatchConflict.
  virtual BatchOutcome accept_batch(const PartialRecord& partial, const std::vector<AcceptRow>& rows) = 0;
  virtual Result<uint64_t> count_accepted(const RoundKey& key) = 0;
  virtual Result<std::vector<DeviceId>> list_accepted(const RoundKey& key) = 0;
  // Who may not be counted in this round, as one of the last rounds.separation_min - 1 of its job counts them. Each
  // once; empty where the job has no separation.
  virtual Result<std::vector<DeviceId>> list_resting(const RoundKey& key) = 0;
  virtual Result<bool> is_accepted(const RoundKey& key, const DeviceId& device) = 0;
  // The same, and whether the attempt takes no more updates. If it does not, `is_accepted` is final; unless rows are
  // forgotten of an attempt that is done, or the attempt itself is.
  virtual Result<UpdateFate> look_up(const RoundKey& key, const DeviceId& device) = 0;
  virtual Result<std::vector<PartialRecord>> list_partials(const RoundKey& key) = 0;
  // Partial rows whose round is done or failed, and that still have blobs: for clean-up; then forget them.
  virtual Result<std::vector<PartialRecord>> list_finished_partials(size_t limit) = 0;
  virtual Status forget_partials(const std::vector<std::string>& ids) = 0;
};

}  // namespace coterie
