// What one instruction set computes. Private to train_kernels/int8: others use prepared_layer.h and elements.h.
//
// A lane is 32 bits of the input, four elements of one byte or two of two: the products of one lane by the weights of
// an output are added to its int32 sum by one instruction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/int8/adder.h"
#include "train_kernels/int8/kernels.h"

namespace coterie::kernels::int8 {

// Before a loop whose sums are to stay in registers.
#if defined(__clang__)
#define COT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define COT_UNROLL _Pragma("GCC unroll 8")
#endif

inline constexpr size_t kLaneBytes = 4;

// Some outputs of each of some pixels. All offsets are in bytes.
struct ConvolutionTask {
  const uint8_t* image;    // the padded image, moved; kLaneBytes - 1 bytes behind it can be read
  const size_t* pixels;    // where the window of each pixel begins
  const size_t* segments;  // where, in a window, the bytes lie that follow each other
  size_t pixel_count, segment_count, segment_bytes;  // the last: a multiple of kLaneBytes
  const uint8_t* weights;                            // [output / lanes][segment][byte / 4][lane][4]
  const int32_t* bias;                               // rounded up to whole vectors, as the multipliers
  const float* multipliers;
  Target to;
  size_t outputs;
  int8_t* y;
  size_t y_stride;  // from one pixel to the next
};

// At most `lanes` channels of a depthwise convolution without dilation.
struct DepthwiseTask {
  const Conv2dShape* shape;
  const int8_t* x;         // the first of these channels
  uint32_t* columns;       // [padded_h][padded_w][lanes]: of each pixel and channel, it and its neighbours to the right
  const uint8_t* weights;  // [kernel_h][lanes of a kernel's row][lane][4]
  const int32_t* bias;     // `lanes` of them, as the multipliers
  const float* multipliers;
  int move;     // what is added to an input before it is stored
  int8_t zero;  // of the input: what padding is
  Target to;
  size_t channels;
  int8_t* y;
};

struct VectorKernels {
  size_t lanes, element_bytes;
  // What is added to an int8 before it is an element: a constant, and minus its zero if has_no_zero.
  int move;
  bool has_no_zero;
  void (*convolve)(const ConvolutionTask&);
  void (*fill_columns)(const DepthwiseTask&, bool is_first);  // padding above and below only the first time
  void (*depthwise)(const DepthwiseTask&);
  void (*quantise)(const Grid&, size_t count, const float* x, int8_t* y);
  void (*dequantise)(const Grid&, size_t count, const int8_t* x, float* y);
  void (*add)(size_t count, const Summand& a, const Summand& b, const Target&, int8_t* y);
  void (*max_pixels)(size_t channels, size_t rows, size_t columns, size_t row_stride, const int8_t* x, int8_t* y);
  void (*mean_pixels)(size_t channels, size_t rows, size_t columns, size_t row_stride, int8_t zero, float divisor,
                      float multiplier, const Target&, const int8_t* x, int8_t* y);
};

// nullptr: this build or this CPU has none.
const VectorKernels* vector_kernels(Adder adder);

#if defined(__x86_64__)
extern const VectorKernels kAvx2Kernels, kVnniKernels;
#elif defined(__aarch64__)
extern const VectorKernels kNeonKernels, kNeonDotKernels, kNeonI8mmKernels;
#endif

}  // namespace coterie::kernels::int8
