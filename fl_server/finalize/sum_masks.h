// SumMasks: what must be taken off the sum of a round with secure aggregation.
//
// Only the shares of enough survivors of one frozen set make it (secure/secagg/opening.h), so whoever has one may see
// that sum, and no other.
#pragma once

#include <cstdint>
#include <vector>

#include "secure/mask/mask_sum.h"
#include "secure/secagg/check_lanes.h"

namespace coterie {

struct SumMasks {
  secagg::SessionParameters parameters;         // of every session
  std::vector<secagg::SummedSession> sessions;  // of all cohorts in the sum
  std::vector<MaskSum> masks;                   // of each of them

  uint64_t updates() const;
  // SHA-256 of "coterie/v1/summed-sessions" and the sessions' names and updates, in order
  // (secure/crypto/domain_fields.h).
  Digest name() const;
};

}  // namespace coterie
