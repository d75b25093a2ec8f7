// An update to levels, on the device. No clock, no entropy: what is random is handed in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "proto/messages/quantization.h"
#include "secure/dp/noise/byte_source.h"

namespace coterie {

class KeyStreamSource;
struct UpdateRules;

// The levels of `values`, an update that is clipped as `rules` say; up or down at random, so that the mean of a level
// is what it was made of. Uses the first 4 bytes a value of `rounding`, which nobody but the device may know: who could
// repeat the rounding would see more of an update than its levels. `signs`: update_rotation_signs(), of the model that
// was trained from. invalid_argument if a value is not finite, or the weight not in [1, weight_max]. Precondition: a
// valid plan's rules, with quantized updates, and value_count values.
Result<std::vector<uint16_t>> quantize(std::span<const float> values, uint32_t weight, const UpdateRules& rules,
                                       const ByteSource& signs, const ByteSource& rounding);

// The lanes behind the levels: digits of the weight, the lowest first. digits.size() == weight_digits(...).
void write_weight_digits(uint32_t weight, const QuantizationRules& rules, std::span<uint16_t> digits);

// The source of a device's rounding, from the seed of its training: one seed for one update.
Result<KeyStreamSource> update_rounding(uint64_t training_seed);

}  // namespace coterie
