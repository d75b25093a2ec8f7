#include "secure/dp/encode/encoding_terms.h"

#include <cmath>
#include <string>

#include "proto/ring/fixed_point.h"
#include "secure/dp/encode/conditional_rounding.h"
#include "secure/dp/encode/rotation.h"

namespace coterie {

Status validate(const EncodingTerms& spec) {
  const auto bad = [](const std::string& why) { return Error(ErrorCode::invalid_argument, "encoding: " + why); };
  if (spec.fraction_bits > kEncodingFractionBitsMax) {
    return bad("fraction_bits must be at most " + std::to_string(kEncodingFractionBitsMax) + ", is " +
               std::to_string(spec.fraction_bits));
  }
  if (spec.ring_bits < kRingBitsMin || spec.ring_bits > kRingBitsMax) {
    return bad("ring_bits must be in [" + std::to_string(kRingBitsMin) + ", " + std::to_string(kRingBitsMax) +
               "], is " + std::to_string(spec.ring_bits));
  }
  if (!std::isfinite(spec.clip_norm) || spec.clip_norm <= 0) return bad("clip_norm must be finite and > 0");
  if (spec.weight_max == 0 || spec.weight_max > kWeightMax) {
    return bad("weight_max must be in [1, " + std::to_string(kWeightMax) + "], is " + std::to_string(spec.weight_max));
  }
  if (spec.contributors_max == 0) return bad("contributors_max must be at least 1");
  if (!(scaled_norm_max(spec) <= kScaledNormMax)) {
    return bad("clip_norm * weight_max * 2^fraction_bits must be at most 2^30, is " +
               std::to_string(scaled_norm_max(spec)) + "; lower one");
  }
  return {};
}

uint32_t lane_bits(const EncodingTerms& spec) { return spec.ring_bits <= 16 ? 16 : spec.ring_bits <= 32 ? 32 : 64; }

size_t encoded_coordinates(const EncodingTerms& spec, size_t dimension) {
  return spec.rotated ? rotated_size(dimension) : dimension;
}

size_t encoded_lanes(const EncodingTerms& spec, size_t dimension) { return encoded_coordinates(spec, dimension) + 1; }

double scaled_norm_max(const EncodingTerms& spec) {
  return std::ldexp(spec.clip_norm * spec.weight_max, static_cast<int>(spec.fraction_bits));
}

uint64_t sensitivity_squared(const EncodingTerms& spec, size_t dimension) {
  return rounded_norm_squared_max(scaled_norm_max(spec), encoded_coordinates(spec, dimension));
}

}  // namespace coterie
