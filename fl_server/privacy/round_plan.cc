#include "fl_server/privacy/round_plan.h"

#include "proto/codec/codec.h"
#include "proto/codec/limits.h"
#include "secure/identity/log_head_signature.h"

namespace coterie {

Result<RoundPlan> put_round_plan(BlobStore& blobs, const Digest& job_plan, const RoundTerms& terms,
                                 const std::optional<SignedLogHead>& log) {
  COT_ASSIGN(const Bytes stored, blobs.get(job_plan, limits::kPlanBytesMax));
  Result<Plan> plan = decode_plan(stored);
  if (!plan) return Error(ErrorCode::data_loss, "the job's plan cannot be read: " + plan.error().message());
  Plan own = with_terms(*std::move(plan), terms);
  own.log = log;
  const Bytes bytes = encode(own);
  COT_ASSIGN(const Digest digest, blobs.put(bytes));
  return RoundPlan{digest, static_cast<uint32_t>(bytes.size())};
}

Result<std::optional<SignedLogHead>> sign_log(const Population& population, const LogHead& head, const Signer& signer) {
  if (head.size == 0) return std::optional<SignedLogHead>();
  SignedLogHead named{population, head, {}};
  COT_TRY(sign_log_head(named, signer));
  return std::optional(std::move(named));
}

}  // namespace coterie
