#include "tools/demo/update_bytes.h"

#include "proto/codec/update/bit_packing.h"
#include "proto/codec/update/update_decoder.h"
#include "secure/secagg/check_lanes.h"
#include "secure/secagg/round_session.h"

namespace coterie {

uint64_t update_bytes(const Plan& plan) {
  if (plan.privacy.level == SecurityLevel::none) {
    return update_decoder(plan.update.encoding).payload_bytes_max(plan.update);
  }
  // Any round's: their lanes are alike.
  const secagg::SessionParameters session = secagg::session_parameters(plan, plan.job, {}, {}, {});
  return packed_bytes(secagg::masked_lane_count(session), secagg::wire_lane_bits(session)).value();
}

}  // namespace coterie
