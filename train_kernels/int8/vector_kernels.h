// What one instruction set computes. Private to train_kernels/int8: others use prepared_layer.h and elements.h.
//
// A lane is 32 bits of the input, four elements of one byte or two of two: the products of one lane by the weights of
// an output are added to its int32 sum by one instruction.
#pragma once

#include <array>
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
inline constexpr size_t kBytes = 16;  // int8 of a vector of theirs, whatever the instruction set

// Some outputs of each of some pixels. All offsets are in bytes.
struct ConvolutionTask {
  const uint8_t* image;    // the padded image, moved; kLaneBytes - 1 bytes behind it can be read
  const size_t* pixels;    // where the window of each pixel begins
  const size_t* segments;  // where, in a window, the bytes lie that follow each other
  const size_t* lanes;     // where, in a window, each lane of the segments lies
  size_t pixel_count, segment_count, segment_bytes;  // the last: a multiple of kLaneBytes
  size_t lane_count;                                 // of all segments
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
  uint32_t* columns;       // DepthwiseColumns: what the kernel works in
  const uint8_t* weights;  // [kernel_h][lanes of a kernel's row][lane][4]
  const int32_t* bias;     // `lanes` of them, as the multipliers
  const float* multipliers;
  int move;     // what is added to an input before it is stored
  int8_t zero;  // of the input: what padding is
  Target to;
  size_t channels;
  int8_t* y;
};

// Memory of a depthwise convolution: the rows under a kernel, one behind the other, row r of the padded image at r
// modulo kernel_h. A row has of each place and channel a lane: its pixel and the neighbours to the right. Where a lane
// holds a whole row of the kernel, only places where a window begins are there.
struct DepthwiseColumns {
  size_t step, places;  // from one place to the next, in pixels; how many places a row has
};
inline DepthwiseColumns depthwise_columns(const Conv2dShape& s, size_t lane_elements) {
  const size_t step = s.kernel_w <= lane_elements ? s.stride_w : 1;
  return {step, (s.padded_w() + step - 1) / step};
}

// Four times sixteen channels of a depthwise convolution without dilation: 128 bits of a vector each, of `pixels`
// neighbours. Offsets are in bytes.
inline constexpr size_t kQuarters = 4, kQuarterChannels = 16;
// How the quarters of a window lie in the image: 16 bytes apart; 32; two and two together; otherwise.
enum class Quarters : uint8_t { together, every_second, in_pairs, apart };
struct DepthwiseRowsTask {
  const Conv2dShape* shape;
  const uint8_t*
      image;      // the padded image, moved, at the first of these channels; depthwise_slack can be read behind it
  size_t pixels;  // 4, 2 or 1: so many have their quarters in one vector
  std::array<size_t, kQuarters> at, y_at,
      channels;  // of each quarter: where its window begins, where it goes, how many
  Quarters quarters;
  bool is_whole;           // in y they are together, and none has fewer channels
  const uint8_t* weights;  // [kernel_h / 4][kernel_w][channel / 4 of a quarter][quarter][4][4 rows]
  const int32_t* bias;     // [channel / 4 of a quarter][quarter][4], as the multipliers
  const float* multipliers;
  Target to;
  int8_t* y;
};

// Windows of a maximum pool that lie side by side, each of `rows` by `columns` pixels.
struct MaxTask {
  size_t channels, rows, columns;
  size_t row_stride, window_stride;  // from a pixel to the one below; from a window to the next
  size_t windows;
  const int8_t* x;
  int8_t* y;
  const int8_t* x_end;  // what lies before can be read, and so written
  const int8_t* y_end;
};

struct VectorKernels {
  size_t lanes, element_bytes;
  size_t lanes_least;  // of so many outputs a multiple is computed
  // What is added to an int8 before it is an element: a constant, and minus its zero if has_no_zero.
  int move;
  bool has_no_zero;
  void (*convolve)(const ConvolutionTask&);
  // One of the two: an instruction set has its way.
  void (*depthwise)(const DepthwiseTask&) = nullptr;
  void (*depthwise_rows)(const DepthwiseRowsTask&) = nullptr;
  void (*quantise)(const Grid&, size_t count, const float* x, int8_t* y);
  void (*dequantise)(const Grid&, size_t count, const int8_t* x, float* y);
  void (*add)(size_t count, const Summand& a, const Summand& b, const Target&, int8_t* y);
  // Elements of inputs one behind the other.
  void (*move_elements)(size_t count, const int8_t* x, int move, uint8_t* to);
  void (*max_windows)(const MaxTask&);
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
