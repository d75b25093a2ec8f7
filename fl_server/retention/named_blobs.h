// Whether rows name blobs: files of models, states of optimizers, plans of jobs, what jobs were made of, and segments
// of the audit log.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "fl_server/store/admin_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/retention_store.h"

namespace coterie {

// Which of some blobs are named. Memory for those alone, however many versions there are, and the store is free for
// others between two steps. Not in one transaction: what is named meanwhile was put after the search began, or its
// attempt was opened before.
//
// Threads: one.
class NameSearch {
 public:
  explicit NameSearch(std::vector<Digest> blobs);
  // Reads some rows. True: there are more to read.
  Result<bool> step(JobStore& jobs, RetentionStore& rows, AdminStore& admin);
  // `blob` is one that is searched for. By what was read so far.
  bool is_named(const Digest& blob) const;

 private:
  void see(const Digest& blob);
  Status see_jobs(JobStore& jobs);
  Status see_segments(AdminStore& admin);

  std::vector<Digest> blobs_;  // ascending, each once
  std::vector<bool> named_;    // each of blobs_
  bool has_seen_jobs_ = false;
  std::optional<ModelBlobs::Place> seen_;  // the last version
};

// All steps at once.
Result<bool> is_named(const Digest& blob, JobStore& jobs, RetentionStore& rows, AdminStore& admin);

}  // namespace coterie
