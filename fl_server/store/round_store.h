// RoundStore: a job's rounds, each attempt a row, and their moves from state to state. Errors and threads: job_store.h.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "scheduler/round/round_moves.h"

namespace coterie {

// Which attempts of a job's rounds: `limit` of those before `before` (round number, attempt; none: from the newest)
// that are in this state, if one is named.
struct RoundQuery {
  std::optional<std::pair<uint64_t, Attempt>> before = {};
  std::optional<RoundState> state = {};
  size_t limit = 100;
};

class RoundStore {
 public:
  virtual ~RoundStore() = default;

  // Where the job stands: its row, its newest model, its newest attempt and who is counted there, read together.
  virtual Result<JobProgress> load_progress(const JobId& id) = 0;
  // Idempotent on (job, number, attempt): the row that exists is returned. A new row of a job that keeps a
  // ledger has the ledger's head, here and in commit_round. conflict if the job is not running, or another
  // number is due, or if the privacy ledger does not admit another release of the job or of its populations.
  virtual Result<RoundRecord> open_round(const JobId& job, const OpenRound& request, WallTime now) = 0;
  // Compare-and-set; false if the row is in another state, or if somebody counts and the request minds. An attempt that
  // fails loses its salt; its reserve counts on, unless the request voids it and the noise was the server's.
  virtual Result<bool> move_round(const MoveRound& request, WallTime now) = 0;
  // One transaction: model version, round done, job progress (completed after the last), and, if asked for and the job
  // still runs and may release once more, the next round's row. A job with noise also gets the ledger's commit of the
  // reserve, which must exist, and the salt's end. Repeating a commit that happened returns the present progress.
  virtual Result<JobProgress> commit_round(const JobId& job, const CommitRound& request, WallTime now) = 0;
  // Newest first, every attempt its own row.
  virtual Result<std::vector<RoundRecord>> list_rounds(const JobId& job, const RoundQuery& query) = 0;
};

}  // namespace coterie
