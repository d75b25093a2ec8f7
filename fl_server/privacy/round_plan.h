// The plan of one attempt of a round: the job's, and with it the head of the privacy ledger from before the
// round, so that devices notice a ledger that was rolled back.
#pragma once

#include "fl_server/store/blob_store.h"
#include "proto/messages/ledger_head.h"

namespace coterie {

struct RoundPlan {
  Digest digest;
  uint32_t bytes = 0;
  friend bool operator==(const RoundPlan&, const RoundPlan&) = default;
};

// Stores the plan whose digest is `job_plan`, with this head. The same head gives the same plan, also after a
// restart. data_loss if the job's plan is no plan; errors of the store.
Result<RoundPlan> put_round_plan(BlobStore& blobs, const Digest& job_plan, const LedgerHead& ledger);

}  // namespace coterie
