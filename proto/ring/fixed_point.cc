#include "proto/ring/fixed_point.h"

#include <cmath>
#include <string>

namespace coterie {
namespace {

// The largest lane one update can have. Exact: a product of a float and two integers below 2^32, scaled by 2^n.
double largest_lane(const FixedPointSpec& spec) {
  return std::ldexp(static_cast<double>(spec.value_abs_max) * spec.weight_max, static_cast<int>(spec.fraction_bits));
}

bool fits(const FixedPointSpec& spec) {
  const double lane = largest_lane(spec);
  return lane < kLaneAbsMax && (lane + 1) * spec.contributors_max < 0x1p63;
}

}  // namespace

FixedPointSpec FixedPointSpec::finest(float value_abs_max, uint32_t weight_max, uint32_t contributors_max) {
  FixedPointSpec spec{.lane_bits = 64,
                      .fraction_bits = 0,
                      .value_abs_max = value_abs_max,
                      .weight_max = weight_max,
                      .contributors_max = contributors_max};
  while (spec.fraction_bits < 50) {
    FixedPointSpec finer = spec;
    ++finer.fraction_bits;
    if (!fits(finer)) break;
    spec = finer;
  }
  return spec;
}

Status validate(const FixedPointSpec& spec) {
  auto bad = [](const std::string& why) { return Error(ErrorCode::invalid_argument, "fixed point: " + why); };
  if (spec.lane_bits != 64) return bad("lane_bits must be 64, is " + std::to_string(spec.lane_bits));
  if (spec.fraction_bits > 50) return bad("fraction_bits must be at most 50, is " + std::to_string(spec.fraction_bits));
  if (!std::isfinite(spec.value_abs_max) || spec.value_abs_max <= 0) return bad("value_abs_max must be finite and > 0");
  if (spec.weight_max == 0 || spec.weight_max > kWeightMax) {
    return bad("weight_max must be in [1, " + std::to_string(kWeightMax) + "], is " + std::to_string(spec.weight_max));
  }
  if (spec.contributors_max == 0) return bad("contributors_max must be at least 1");
  if (!fits(spec)) {
    return bad("value_abs_max * weight_max * contributors_max * 2^fraction_bits does not fit a signed lane; lower one");
  }
  return {};
}

}  // namespace coterie
