// What leaves the device in a round with secure aggregation: the same update as without, as lanes, masked; at active_dp
// clipped, rounded and with noise of the device's own (secure/dp/encode).
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/plan.h"
#include "secure/secagg/client.h"

namespace coterie {

// The frame: lanes of `values` times `weight`, the weight, the check lanes; all masked. `plan` has a level, `masking`
// is what client.mask() gave. One Masking serves one pair of values and weight only: then the bytes are the same,
// too, as what is random in them comes of the client's seed. invalid_argument if a value is beyond what the plan
// allows, or not finite; what Client::key_stream says.
Result<Bytes> encode_masked_update(const secagg::Masking& masking, const secagg::Client& client, const Plan& plan,
                                   std::span<const float> values, uint32_t weight);

// The same of a quantized update: `packed` is its payload (proto/codec/update/bit_packing.h), and lanes travel packed,
// too. malformed if the payload is not of so many levels.
Result<Bytes> encode_masked_levels(const secagg::Masking& masking, const Plan& plan, ByteView packed, uint32_t weight);

}  // namespace coterie
