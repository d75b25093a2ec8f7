// Floats as int8 times a scale for each channel, symmetric around 0, and what that loses.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "device_sdk/runtime/stored_model_file.h"
#include "proto/messages/quantised_training.h"

namespace coterie {

// Where the range of a channel ends, which becomes 127, or less where weights have fewer bits (int8_grid.h).
//   min_max   at its largest magnitude
//   least_mse at the part of that (from 1 down to .4, in steps of .01) that loses least in squares: a few large weights
//   are
//             cut so that the many small ones are finer
enum class RangeRule : uint8_t { min_max, least_mse };
std::string_view to_string(RangeRule rule);

// Rounds to nearest, ties to even. `form.axis` counts the channels; the scales are found here.
Int8Weights to_int8(std::span<const float> values, const Shape& shape, uint32_t tensor, uint32_t axis, RangeRule rule,
                    uint32_t bits = kWeightBitsMax);
std::vector<float> from_int8(const Int8Weights& weights, const Shape& shape);

struct Int8Loss {
  double mean_squared_error = 0;
  double cosine = 1;  // between both vectors; 1 where they are 0
};
Int8Loss loss_of(std::span<const float> exact, std::span<const float> rounded);

}  // namespace coterie
