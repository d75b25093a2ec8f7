// JobStore: which jobs there are, and whether they run.
//
// Every call is one atomic, durable operation; so it is with RoundStore, AcceptStore, LedgerStore and ModelStore, whose
// rows lie beside these in one database (training_store.h).
//
// Errors, of all five: `unavailable` and `timed_out` mean that a write may or may not have happened: all writes are
// safe to repeat. `conflict`, `not_found`, `invalid_argument` and `storage_full` mean that nothing was written.
// Implementations are thread-safe. One conformance suite (tests/unit/fl_server/store) runs against every
// implementation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fl_server/records/quota.h"
#include "scheduler/job/records.h"

namespace coterie {

class JobStore {
 public:
  virtual ~JobStore() = default;

  // Stores a job, its initial model (version 0) and whose privacy budgets it draws from together: its population's, and
  // those of the jobs that have the model as a version of theirs, but not as their first; and, if an owner is given,
  // that it is his (otherwise the default tenant's). conflict if the id is taken, or ever was; over_quota if the owner
  // has no room for it.
  virtual Status create_job(const JobRecord& job, const ModelRecord& initial,
                            const std::optional<QuotaClaim>& owner = {}) = 0;
  virtual Result<std::vector<JobRecord>> list_jobs() = 0;  // by creation
  virtual Result<JobRecord> get_job(const JobId& id) = 0;
  // running <-> paused, running|paused -> cancelled|failed; the same state again is fine. conflict otherwise, and if a
  // revision is expected and the job has another (compare-and-set; then it has for ever: revisions only grow).
  virtual Result<JobRecord> set_job_state(const JobId& id, JobState to, const std::string& reason,
                                          std::optional<uint64_t> revision_expected = {}) = 0;
};

}  // namespace coterie
