// The C of each layer's function of a program that predicts, and series that both kinds of program have.
//
// The order of additions is that of train_kernels/reference: with the same products and no contraction, the bits are
// the same. Functions are `static`; each takes its sizes from a struct of its kind.
#pragma once

#include <string_view>

namespace coterie::micro_text {

// Types of the sizes.
extern const std::string_view kDenseShape, kConv2dShape, kPool2dShape;
// Forward.
extern const std::string_view kDense, kConv2d, kMaxPool2d, kAveragePool2d, kRelu, kSoftmax;
// exp and log by series; their bounds are in the text. kLog stands behind kExp.
extern const std::string_view kExp, kLog;

}  // namespace coterie::micro_text
