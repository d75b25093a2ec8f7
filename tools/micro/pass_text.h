// The C of the layers of a program that trains.
//
// Forward, the gradient of the weights and that of the input are sums over the same products, in the same order. So a
// kind of layer has one function for all three, a pass, which is told what it adds to (ADR 209). Each sum has the order
// of train_kernels/reference, as in kernel_text.h, and so the bits.
#pragma once

#include <string_view>

namespace coterie::micro_text {

// What a pass is, and what it may add to. Every program that trains has it, in front.
extern const std::string_view kPass;
// Products of one pixel; kDensePass and kWindowPass call it.
extern const std::string_view kProducts;
// dense_pass; its sizes are kDenseShape's (kernel_text.h).
extern const std::string_view kDensePass;
// The sizes of a layer with windows (shape_text.h) and where they lie; window_pass of convolutions and maxima, and
// average_pass.
extern const std::string_view kWindowShape, kWindowPass, kAveragePass;
// The gradient through a ReLU, and that of the loss.
extern const std::string_view kReluInput, kCrossEntropy;

}  // namespace coterie::micro_text
