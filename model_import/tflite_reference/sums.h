// Sums of products, of doubles or of integers: convolutions, dense layers, products of matrices. Private to the
// reference. Zeros are taken from both factors first; a place outside of the image adds nothing.
#pragma once

#include "model_import/tflite_reference/kernel_call.h"

namespace coterie::model_import {

// One dimension of a kernel that slides.
struct Slide {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0;
};
// Errors: malformed (the window does not fit).
Result<Slide> slide_of(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, bool is_same);

template <typename T>
struct Factors {
  std::vector<T> x, w;  // less their zeros
};

// The sums in the order of the output's elements, without bias. Its shape must be what the operands give. Errors:
// malformed.
template <typename T>
Result<std::vector<T>> sums_of(const KernelCall& call, const Factors<T>& factors);

// Which operands are the two factors and the bias.
struct SumPlaces {
  size_t x = 0, w = 1, bias = 2;
};
SumPlaces sum_places(TfliteOp op);
bool is_sum(TfliteOp op);

}  // namespace coterie::model_import
