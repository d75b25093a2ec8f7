#include "secure/secagg/round_session.h"

#include "proto/messages/quantized_lanes.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"
#include "secure/dp/distributed/device_noise.h"

namespace coterie::secagg {

Digest round_context(const JobId& job, const RoundKey& round, const Digest& model, const Digest& plan) {
  DomainFields fields("coterie/v1/round");
  fields.add(job.value())
      .add(round.round.value())
      .add(uint64_t{round.attempt.value()})
      .add(model.view())
      .add(plan.view());
  return sha256(fields.view());
}

SessionParameters session_parameters(const Plan& plan, const JobId& job, const RoundKey& round, const Digest& model,
                                     const Digest& plan_digest) {
  SessionParameters parameters{.context = round_context(job, round, model, plan_digest),
                               .level = plan.privacy.level,
                               .survivors_min = plan.privacy.cohort_min,
                               .corrupt_share = plan.privacy.corrupt_share,
                               .dropout_share = plan.privacy.dropout_share,
                               .suite = static_cast<CipherSuite>(plan.privacy.cipher_suite),
                               .ring_bits = 64,
                               // One lane more than values: the update's weight, which is hidden like they are.
                               .lane_count = plan.update.value_count + 1,
                               .roster_max = plan.privacy.roster_max};
  static_assert(kNoisyRosterMax == kCompleteCohortMax && kCompleteRosterMax == kCompleteCohortMax);
  if (plan.privacy.level == SecurityLevel::active_dp) {
    const EncodingTerms encoding = encoding_of(plan.privacy);
    parameters.ring_bits = encoding.ring_bits;
    parameters.lane_count = encoded_lanes(encoding, plan.update.value_count);
  }
  if (plan.update.encoding == UpdateEncoding::quantized) {
    parameters.ring_bits = sum_bits(plan.update.quantization);
    parameters.lane_count =
        quantized_lanes(plan.update.quantization, plan.update.value_count, plan.update.fixed_point.weight_max);
    parameters.packed = true;
  }
  return parameters;
}

}  // namespace coterie::secagg
