// What an int8 network computes, to the bit: the same on x86, ARM and microcontrollers (ADR 113).
//
// A real number lies on a grid: real = scale * (q - zero), q an int8. Weights have zero 0, a scale for each output and
// q in [-127, 127]; a bias is an int32 on the grid scale_in * scale_weight. So each sum of products is a sum of
// integers, exact in any order, and whoever adds with VNNI, SDOT or one by one gets the same int32. Only what brings a
// sum to the next grid is float32, and each of its operations is one that IEEE 754 rounds correctly:
//
//   requantise(sum) = clamp(round(float(sum) * multiplier) + zero_out, low, high)
//   multiplier      = (scale_in * scale_weight) / scale_out, computed in float32 in this order
//   quantise(x)     = clamp(round(x / scale) + zero, -128, 127)
//   round           to nearest, ties to even
//
// These are the semantics of ONNX QLinearConv and of QuantizeLinear (opset 13), as ONNX Runtime computes them. Products
// and sums must not be contracted (-ffp-contract=off), and there must be no excess precision.
//
// All functions trust their arguments: device_sdk/runtime/int8 has checked that no sum leaves an int32. Operands do not
// overlap unless it is said. Shapes: train_kernels/shapes.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "train_kernels/shapes.h"

namespace coterie::kernels::int8 {

struct Grid {
  float scale = 1;
  int8_t zero = 0;
  friend bool operator==(const Grid&, const Grid&) = default;
};

// Where a result goes: its zero, and its bounds, which are also the ReLU (low = zero) or clip behind the layer.
struct Target {
  int8_t zero = 0, low = -128, high = 127;
  friend bool operator==(const Target&, const Target&) = default;
};

// A dense layer or a convolution: weights as the shape says, of each output a bias and a multiplier.
struct Weighted {
  const int8_t* weights;
  const int32_t* bias;
  const float* multipliers;
  int8_t zero_in;
  Target to;
};

// clamp(round(value) + to.zero, to.low, to.high); what is not a number is to.low.
int8_t rounded(float value, const Target& to);

// y[i] = quantise(x[i]).
void quantise(const Grid& grid, size_t count, const float* x, int8_t* y);
// y[i] = scale * (x[i] - zero), rounded once.
void dequantise(const Grid& grid, size_t count, const int8_t* x, float* y);

// y[b][o] = requantise(bias[o] + sum over i of (x[b][i] - zero_in) w[i][o]).
void dense(const DenseShape& shape, const Weighted& layer, const int8_t* x, int8_t* y);
// As dense over the pixels of a window; padding is zero_in, so that it adds nothing.
void conv2d(const Conv2dShape& shape, const Weighted& layer, const int8_t* x, int8_t* y);

// The largest q of the real pixels of a window, on the same grid.
void max_pool2d(const Pool2dShape& shape, const int8_t* x, int8_t* y);
// clamp(round((float(sum of (x - zero_in)) / float(pixels)) * multiplier) + zero): the mean of the real pixels;
// multiplier = scale_in / scale_out. A window has at most kAveragePixelsMax pixels: below that the sum is exact.
inline constexpr size_t kAveragePixelsMax = (1u << 24) / 255;
void average_pool2d(const Pool2dShape& shape, int8_t zero_in, float multiplier, const Target& to, const int8_t* x,
                    int8_t* y);

// clamp(round(float(a - zero_a) * multiplier_a + float(b - zero_b) * multiplier_b) + zero): two products, then one sum.
// multiplier = scale of the operand / scale_out.
struct Summand {
  const int8_t* values;
  int8_t zero;
  float multiplier;
};
void add(size_t count, const Summand& a, const Summand& b, const Target& to, int8_t* y);

// y[i] = clamp(x[i], low, high): a ReLU or clip by itself; the grid stays. y may be x.
void clamp(size_t count, int8_t low, int8_t high, const int8_t* x, int8_t* y);

// y[i] = e^(x[i] - max x) / sum, added from left to right. e^x for x <= 0 is 0 below -87, else a series within 2 units
// in the last place: x = k ln 2 + r with |r| <= 0.35, e^r by Taylor to r^7 / 7! (Horner), times 2^k. It is that of the
// C for microcontrollers (tools/micro/kernel_text.cc), because each libm has bits of its own. y may be x.
void softmax(size_t count, const float* x, float* y);

}  // namespace coterie::kernels::int8
