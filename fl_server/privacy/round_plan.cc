#include "fl_server/privacy/round_plan.h"

#include "proto/codec/codec.h"
#include "proto/codec/limits.h"

namespace coterie {

Result<RoundPlan> put_round_plan(BlobStore& blobs, const Digest& job_plan, const LedgerHead& ledger) {
  COT_ASSIGN(const Bytes stored, blobs.get(job_plan, limits::kPlanBytesMax));
  Result<Plan> plan = decode_plan(stored);
  if (!plan) return Error(ErrorCode::data_loss, "the job's plan cannot be read: " + plan.error().message());
  plan->ledger = ledger;
  const Bytes bytes = encode(*plan);
  COT_ASSIGN(const Digest digest, blobs.put(bytes));
  return RoundPlan{digest, static_cast<uint32_t>(bytes.size())};
}

}  // namespace coterie
