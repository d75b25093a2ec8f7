// SumMasks: what must be taken off the sum of a round with secure aggregation.
//
// Only the shares of enough survivors of one frozen set make it (secure/secagg/opening.h), so whoever has one may see that
// sum, and no other.
#pragma once

#include <cstdint>

#include "secure/mask/mask_sum.h"
#include "secure/secagg/session.h"

namespace coterie {

struct SumMasks {
  secagg::SessionParameters parameters;
  Digest session;
  uint64_t survivors = 0;  // updates in the sum
  MaskSum masks;
};

}  // namespace coterie
