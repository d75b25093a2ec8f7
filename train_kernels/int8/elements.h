// What has no weights, by vector instructions: the same bits as the functions of these names in kernels.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/int8/adder.h"
#include "train_kernels/int8/kernels.h"

namespace coterie::kernels::int8 {

// The CPU has the adder.
void quantise(Adder adder, const Grid& grid, size_t count, const float* x, int8_t* y);
void dequantise(Adder adder, const Grid& grid, size_t count, const int8_t* x, float* y);
void max_pool2d(Adder adder, const Pool2dShape& shape, const int8_t* x, int8_t* y);
void average_pool2d(Adder adder, const Pool2dShape& shape, int8_t zero_in, float multiplier, const Target& to,
                    const int8_t* x, int8_t* y);
void add(Adder adder, size_t count, const Summand& a, const Summand& b, const Target& to, int8_t* y);

}  // namespace coterie::kernels::int8
