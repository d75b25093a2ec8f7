// The C of each step of an int8 network. The definition is that of train_kernels/int8/kernels.h, and so are the bits.
#pragma once

#include <string_view>

namespace coterie::micro_text {

// Rounding, which all need; what stands at both ends.
extern const std::string_view kInt8Rounded, kInt8Quantise, kInt8Dequantise;
// Steps; their sizes are of the types in kernel_text.h.
extern const std::string_view kInt8Dense, kInt8Conv2d, kInt8MaxPool2d, kInt8AveragePool2d, kInt8Add, kInt8Clamp;

}  // namespace coterie::micro_text
