// How many elements of a tensor lie in a range: one pass. Pure.
#pragma once

#include "device_sdk/watch/check.h"

namespace coterie {

// Both ends inside; what is NaN is not. int32: 0.
uint64_t count_within(const TensorView& tensor, double start, double end);

// How many units (the last dimension, of size `units`) are zero in every row; float32 and bfloat16 alone.
// Precondition: units divides the count.
uint64_t count_dead_units(const TensorView& tensor, uint64_t units, std::vector<uint8_t>& scratch);

}  // namespace coterie
