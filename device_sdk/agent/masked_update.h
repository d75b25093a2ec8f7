// What leaves the device in a round with secure aggregation: the same update as without, as lanes, masked.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/ring/fixed_point.h"
#include "secure/secagg/masking.h"

namespace coterie {

// The frame: lanes of `values` times `weight` (proto/ring), the weight, the check lanes; all masked. Of one Masking only ever
// for the same values and weight. invalid_argument if a value is beyond spec.value_abs_max, or not finite.
Result<Bytes> encode_masked_update(const secagg::Masking& masking, std::span<const float> values, uint32_t weight,
                                   const FixedPointSpec& spec);

}  // namespace coterie
