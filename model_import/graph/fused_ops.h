// The operators of a graph that are not ONNX's own.
#pragma once

namespace coterie::model_import {

// Operators that patterns become, beside ONNX's own.
inline constexpr const char* kGelu = "coterie.Gelu";  // attribute approximate: none, tanh
inline constexpr const char* kSwish = "coterie.Swish";
inline constexpr const char* kRmsNorm = "coterie.RmsNorm";      // x, scale; attributes axis, epsilon
inline constexpr const char* kGroupNorm = "coterie.GroupNorm";  // x, scale, bias; attributes num_groups, epsilon
inline constexpr const char* kFusedOperators[] = {kGelu, kSwish, kRmsNorm, kGroupNorm};
// MatMul may have a third operand, the bias.

}  // namespace coterie::model_import
