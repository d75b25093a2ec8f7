// Floats as integers of a few bits times a scale for each channel, symmetric around 0, and what that loses.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "device_sdk/runtime/stored_model_file.h"
#include "proto/messages/quantised_training.h"

namespace coterie {

struct StoredWeights;  // stored_weights.h

// Where the range of a channel ends, which becomes 127, or less where weights have fewer bits (int8_grid.h).
//   min_max   at its largest magnitude
//   least_mse at the part of that (from 1 down to .4, with 4 bits and fewer .1, in steps of .01) that loses least in
//             squares: a few large weights are cut so that the many small ones are finer
// With 1 bit there is nothing to choose: each weight is the mean magnitude of its channel with its sign, which loses
// least in squares.
enum class RangeRule : uint8_t { min_max, least_mse };
std::string_view to_string(RangeRule rule);

// Rounds to nearest, ties to even. `form.axis` counts the channels; the scales are found here. Precondition: bits in
// [1, 16] (stored_integers.h).
StoredWeights to_integers(std::span<const float> values, const Shape& shape, uint32_t tensor, uint32_t axis,
                          RangeRule rule, uint32_t bits);
// The integer of a value on a channel's scale.
int16_t integer_on(float value, float scale, uint32_t bits);
std::vector<float> from_integers(const StoredWeights& weights, const Shape& shape);

// The same of at most 8 bits, for what computes in int8.
Int8Weights to_int8(std::span<const float> values, const Shape& shape, uint32_t tensor, uint32_t axis, RangeRule rule,
                    uint32_t bits = kWeightBitsMax);
std::vector<float> from_int8(const Int8Weights& weights, const Shape& shape);

struct Int8Loss {
  double mean_squared_error = 0;
  double cosine = 1;  // between both vectors; 1 where they are 0
};
Int8Loss loss_of(std::span<const float> exact, std::span<const float> rounded);

}  // namespace coterie
