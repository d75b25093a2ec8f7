// The verdict on one tensor, and what is told about it. Pure.
#pragma once

#include <span>
#include <string>

#include "tools/compare_tensors/tensor_comparison.h"

namespace coterie {

constexpr double kHalfMax = 65504;  // the largest number of float16

// Fills verdict, difference and picture, and adds overflow_note() to the notes. The verdict is `shape` where shapes or
// counts are not the same. b is the reference.
void compare_values(std::span<const float> a, std::span<const float> b, double tolerance, ComparedTensor& to);

// "12 values are infinite where the reference is beyond 65504, float16's largest", where that holds for most values
// that are infinite in one alone; likewise of the reference. Else empty.
std::string overflow_note(std::span<const float> a, std::span<const float> b);

}  // namespace coterie
