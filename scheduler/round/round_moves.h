// What a round asks of the store, and what it reads there: the requests are RoundMachine's, the answers its events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "scheduler/job/records.h"

namespace coterie {

// Where a job stands in the store: read at start, at reload, and after a committed round.
struct JobProgress {
  JobRecord job;
  ModelRecord head;                   // the newest model
  std::optional<RoundRecord> latest;  // the newest attempt of the newest round
  uint64_t accepted = 0;              // accept rows of `latest`
  std::string privacy_stop = {};      // why the privacy ledger admits no further release; empty: it does, or need not
};

// The outcome of finalizing: the next model, durable as a blob, not yet committed.
struct FinalizedRound {
  RoundKey key;
  ModelRecord model;
  RoundTotals totals;
  std::optional<Digest> noise_commitment = {};  // to the seed of the noise in it, if there is any
  bool is_last = false;                         // nothing is left to ask, however many rounds the job would have
};

// ---- Requests. Each is one transaction of the store (fl_server/store/round_store.h).
// clang-format off
// Idempotent on (job, number, attempt). `round` is set from the second attempt on.
struct OpenRound { uint64_t number; std::optional<RoundId> round; Attempt attempt; ModelRecord base; };
// `if_nobody_counts`: only while no update of the attempt is accepted, which is looked up in the same transaction.
// `voids_release`: to failed alone, and by who knows that nobody saw anything that was made of the attempt's noisy sum.
// The same transaction takes the reserve of noise that the server drew back from the ledger.
struct MoveRound {
  RoundKey key; RoundState from; RoundState to; std::string reason; uint32_t selected; bool if_nobody_counts = false;
  bool voids_release = false;
};
// Model version, round done, job progress, and the next round's row if there is one.
struct CommitRound { FinalizedRound round; uint64_t number; bool opens_next; bool completes_job; };
// clang-format on

}  // namespace coterie
