#include "secure/secagg/session.h"

#include <algorithm>
#include <string>

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"
#include "secure/secagg/fault.h"
#include "secure/secret_sharing/shamir.h"

namespace coterie::secagg {
namespace {

Error bad(std::string text) { return Error(ErrorCode::invalid_argument, "secure aggregation: " + std::move(text)); }

}  // namespace

Status validate(const SessionParameters& parameters) {
  if (parameters.level == SecurityLevel::none || parameters.level > SecurityLevel::active_dp) {
    return bad("the level must be masked, active or active_dp");
  }
  if (parameters.survivors_min < 2 || parameters.survivors_min > kCohortSizeMax) {
    return bad("survivors_min must be in [2, " + std::to_string(kCohortSizeMax) + "]: a sum of one is an update");
  }
  if (!(parameters.corrupt_share >= 0 && parameters.corrupt_share < 1) ||
      !(parameters.dropout_share >= 0 && parameters.dropout_share < 1)) {
    return bad("corrupt_share and dropout_share must be in [0, 1)");
  }
  if (parameters.is_active() &&
      !(parameters.corrupt_share >= kCorruptShareMin && parameters.corrupt_share <= kCorruptShareMax)) {
    return bad("against an active server corrupt_share must be in [0.1, 1/3], not " +
               std::to_string(parameters.corrupt_share));
  }
  if (parameters.suite != CipherSuite::aes256_ctr && parameters.suite != CipherSuite::chacha20) {
    return bad("unknown cipher suite " + std::to_string(static_cast<int>(parameters.suite)));
  }
  if (parameters.ring_bits < kSessionRingBitsMin || parameters.ring_bits > 64)
    return bad("ring_bits must be in [8, 64]");
  if (parameters.packed && parameters.ring_bits > 32) return bad("ring_bits must be in [8, 32] where lanes are packed");
  // Check lanes are some ten more.
  if (parameters.lane_count < 1 || parameters.lane_count > kKeyStreamBytesMax / 8 - 64) {
    return bad("lane_count must be in [1, " + std::to_string(kKeyStreamBytesMax / 8 - 64) + "]");
  }
  return {};
}

uint32_t lane_bits(const SessionParameters& parameters) {
  return parameters.ring_bits <= 16 ? 16 : parameters.ring_bits <= 32 ? 32 : 64;
}

uint32_t wire_lane_bits(const SessionParameters& parameters) {
  return parameters.packed ? parameters.ring_bits : lane_bits(parameters);
}

Result<GraphShape> shape_for(const SessionParameters& parameters, uint32_t roster_size) {
  COT_TRY(validate(parameters));
  const uint32_t roster_max = std::min(parameters.roster_max, kCohortSizeMax);
  if (roster_size < parameters.survivors_min || roster_size > roster_max) {
    return fault(Fault::cohort_size, "a roster of " + std::to_string(roster_size) + " devices; the session takes " +
                                         std::to_string(parameters.survivors_min) + " to " +
                                         std::to_string(roster_max));
  }
  // Against an active server small rosters are complete: their threshold holds with certainty and follows from the size
  // alone, so that no plan can lower it (ADR 51).
  if (!parameters.is_active() || roster_size > kCompleteCohortMax) {
    const auto adversary = parameters.is_active() ? Adversary::active_server : Adversary::curious_server;
    const Result<GraphParameters> sparse =
        sparse_graph({roster_size, parameters.corrupt_share, parameters.dropout_share, adversary});
    if (sparse && sparse->degree <= kSharesMax) {
      return GraphShape{parameters.is_active() ? GraphKind::drawn : GraphKind::ring, sparse->degree, sparse->threshold};
    }
  }
  if (roster_size > kCompleteCohortMax) {
    return fault(Fault::cohort_size, "no graph with at most " + std::to_string(kSharesMax) +
                                         " holders a device keeps " + std::to_string(roster_size) +
                                         " devices private; use cohorts of at most " +
                                         std::to_string(kCompleteCohortMax));
  }
  COT_ASSIGN(const GraphParameters complete, complete_graph(roster_size));
  return GraphShape{GraphKind::complete, roster_size, complete.threshold};
}

Digest session_of(const SessionParameters& parameters, const GraphShape& shape, uint32_t roster_size,
                  const Digest& root) {
  // All that both ends must see alike goes in: devices that were told different things mask for different sessions, and
  // their masks do not cancel.
  DomainFields fields("coterie/v1/session");
  fields.add(parameters.context.view())
      .add(static_cast<uint64_t>(parameters.level))
      .add(parameters.survivors_min)
      .add(static_cast<uint64_t>(parameters.suite))
      .add(parameters.ring_bits)
      .add(parameters.lane_count)
      .add(static_cast<uint64_t>(shape.kind))
      .add(shape.holders)
      .add(shape.threshold)
      .add(roster_size)
      .add(root.view());
  return sha256(fields.view());
}

}  // namespace coterie::secagg
