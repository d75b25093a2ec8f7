// The session of secure aggregation that belongs to one attempt of one round: both ends make its parameters of what
// both know, the device of the assignment that the server signed and of the plan and the model it has hashed itself.
#pragma once

#include "base/ids.h"
#include "proto/messages/plan.h"
#include "secure/secagg/session.h"

namespace coterie::secagg {

// SHA-256 of "coterie/v1/round", job, round, attempt, model and plan (secure/crypto/domain_fields.h). Devices that were
// given different models or plans are in different sessions.
Digest round_context(const JobId& job, const RoundKey& round, const Digest& model, const Digest& plan);

// An update is its lanes of the plan's fixed point (proto/ring: modulo 2^64) and one lane with its weight behind them:
// a masked sum is bit for bit that of a round without masks. With noise of the devices it is what encode_update makes
// of it (secure/dp/encode), in as many bits as the plan's encoding has. Quantized, it is its levels and the digits of
// its weight, in as many bits as their sum has (proto/messages/quantized_lanes.h). `plan` is valid and has a level;
// `plan_digest` is that of its frame.
SessionParameters session_parameters(const Plan& plan, const JobId& job, const RoundKey& round, const Digest& model,
                                     const Digest& plan_digest);

}  // namespace coterie::secagg
