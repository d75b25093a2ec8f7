// RetentionStore: rows of training that nobody needs any more, and their removal. What may go is decided elsewhere
// (fl_server/retention); each removal looks again at what must stay, in its transaction, so that no caller's mistake
// and no change since removes what is named. Rows of the privacy ledger are never removed.
//
// Errors and threads: job_store.h. Each call is one small transaction; `conflict` also if this server does not lead.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fl_server/records/unnamed_blob.h"
#include "scheduler/job/records.h"

namespace coterie {

// One step of forget_job.
struct ForgottenJob {
  bool is_gone = false;             // the job's row, and all that was its own; otherwise: ask again
  std::vector<ModelRecord> models;  // whose rows are gone now
  UnnamedBlob plan = {};            // the job's, which nobody names any more
};

// One step of forget_accepted.
struct ForgottenAccepted {
  uint64_t rows = 0;
  RoundKey seen = {};  // the last attempt that has no such rows any more: what the next step may go on behind
};

// Blobs that versions name, a page of versions at a time.
struct ModelBlobs {
  using Place = std::pair<JobId, ModelVersion>;
  std::vector<Digest> blobs;  // files, optimizer states, exact models and deltas; in no order, some more than once
  std::optional<Place> last;  // the page's last version; nothing: there are no more
};

class RetentionStore {
 public:
  virtual ~RetentionStore() = default;

  // For `limit` versions of all jobs, deleted ones too, by job and version: those behind `after`, or the first ones.
  virtual Result<ModelBlobs> list_model_blobs(const std::optional<ModelBlobs::Place>& after, size_t limit) = 0;
  // When the oldest attempt was opened that is in this state, or in a later one that is not its end. Nothing: there is
  // none.
  virtual Result<std::optional<WallTime>> oldest_under_way(RoundState from) = 0;
  // Versions that were promoted and not rolled back, each once.
  virtual Result<std::vector<ModelVersion>> list_releases(const JobId& job) = 0;

  // Removes these versions but for the first, the newest, those of list_releases() and what an attempt that has not
  // ended trains from. Returns those that are gone now.
  virtual Result<std::vector<ModelRecord>> forget_models(const JobId& job,
                                                         const std::vector<ModelVersion>& versions) = 0;
  // From here on no version has a computed model (ModelRecord::exact) but for the newest and what an attempt that has
  // not ended trains from: a round begins with the newest alone. Returns the files that are no longer named so.
  virtual Result<std::vector<UnnamedBlob>> forget_exact_models(const JobId& job) = 0;
  // Removes who is counted in attempts that ended before `ended_before`, `limit` rows at most, but for whom keeps a
  // device from the next round of a job that goes on (AcceptStore::list_resting). An attempt that has ended takes no
  // update, so nobody is counted anew.
  // Those of attempts behind `after` alone, by number: whoever removes many rows looks at each attempt once.
  virtual Result<ForgottenAccepted> forget_accepted(WallTime ended_before, size_t limit,
                                                    const RoundKey& after = {}) = 0;
  // Removes attempts of rounds before `number` that ended before `ended_before` and have neither accept rows nor
  // partial sums nor kept noise any more, `limit` at most; never those of the job's newest round. Returns how many.
  virtual Result<uint64_t> forget_rounds(const JobId& job, uint64_t number, WallTime ended_before, size_t limit) = 0;
  // From here on a job that has ended is not there, nor are its rounds and models, for whoever asks by it; and for
  // ever: what of it is stored is for the two calls below. conflict if it has not ended, and as in
  // JobStore::set_job_state. Who does not lead may, too.
  virtual Status delete_job(const JobId& job, std::optional<uint64_t> revision_expected) = 0;
  virtual Result<std::vector<JobId>> list_deleted_jobs() = 0;
  // Removes `limit` rows of a deleted job, its models behind its rounds; not its records in the privacy ledger.
  // not_found if there is no deleted job of this name.
  virtual Result<ForgottenJob> forget_job(const JobId& job, size_t limit) = 0;
};

}  // namespace coterie
