// The definition, as plain as it can be written: the oracle of whatever is faster.
#include <algorithm>
#include <bit>
#include <cmath>

#include "train_kernels/int8/kernels.h"
#include "train_kernels/reference/pool.h"

namespace coterie::kernels::int8 {
namespace {

int8_t requantise(int32_t sum, float multiplier, const Target& to) {
  return rounded(static_cast<float>(sum) * multiplier, to);
}

// e^x = 2^k e^r with |r| <= ln 2 / 2, and a polynomial for e^r. By single operations in one order and no library, so
// that every machine has the same bits; ln 2 is taken off in two parts, as one float of it is not exact enough.
float exp_of(float x) {
  if (!(x >= -87.0f)) return x < 0.0f ? 0.0f : x;  // what is left is not a number
  const auto k = static_cast<int32_t>(x * 1.44269504f - 0.5f);
  float r = x - static_cast<float>(k) * 0.693359375f;
  r = r + static_cast<float>(k) * 2.12194440e-4f;
  float sum = 1.98412698e-4f;
  for (const float term : {1.38888889e-3f, 8.33333333e-3f, 4.16666667e-2f, 0.166666667f, 0.5f, 1.0f, 1.0f}) {
    sum = sum * r + term;
  }
  return sum * std::bit_cast<float>(static_cast<uint32_t>(k + 127) << 23);
}

}  // namespace

int8_t rounded(float value, const Target& to) {
  // Bounds are whole numbers, so that it is the same to clamp before rounding; and no float leaves the range of an int.
  const auto low = static_cast<float>(to.low - to.zero), high = static_cast<float>(to.high - to.zero);
  const float bounded = !(value > low) ? low : std::min(value, high);
  return static_cast<int8_t>(static_cast<int32_t>(std::nearbyint(bounded)) + to.zero);
}

void quantise(const Grid& grid, size_t count, const float* x, int8_t* y) {
  const Target to{.zero = grid.zero};
  for (size_t i = 0; i < count; ++i) y[i] = rounded(x[i] / grid.scale, to);
}

void dequantise(const Grid& grid, size_t count, const int8_t* x, float* y) {
  for (size_t i = 0; i < count; ++i) y[i] = grid.scale * static_cast<float>(x[i] - grid.zero);
}

void dense(const DenseShape& shape, const Weighted& layer, const int8_t* x, int8_t* y) {
  for (size_t b = 0; b < shape.batch; ++b) {
    for (size_t o = 0; o < shape.out; ++o) {
      int32_t sum = layer.bias[o];
      for (size_t i = 0; i < shape.in; ++i) {
        // x [batch, in], weights [in, out], y [batch, out], all row-major.
        sum += (x[b * shape.in + i] - layer.zero_in) * layer.weights[i * shape.out + o];
      }
      y[b * shape.out + o] = requantise(sum, layer.multipliers[o], layer.to);
    }
  }
}

void conv2d(const Conv2dShape& s, const Weighted& layer, const int8_t* x, int8_t* y) {
  const size_t depth = s.channels / s.groups, block = s.filters / s.groups;
  // x [batch, height, width, channels], weights [kernel_h, kernel_w, channels / groups, filters], y [batch, out_h,
  // out_w, filters]. A pixel of the padding is zero_in, which adds nothing: it is skipped.
  for (size_t b = 0; b < s.batch; ++b) {
    for (size_t i = 0; i < s.out_h(); ++i) {
      for (size_t j = 0; j < s.out_w(); ++j) {
        for (size_t o = 0; o < s.filters; ++o) {
          int32_t sum = layer.bias[o];
          for (size_t kh = 0; kh < s.kernel_h; ++kh) {
            const size_t row = i * s.stride_h + kh * s.dilation_h;  // of the padded image
            if (row < s.pad_top || row >= s.pad_top + s.height) continue;
            for (size_t kw = 0; kw < s.kernel_w; ++kw) {
              const size_t column = j * s.stride_w + kw * s.dilation_w;
              if (column < s.pad_left || column >= s.pad_left + s.width) continue;
              const size_t pixel = (b * s.height + row - s.pad_top) * s.width + (column - s.pad_left);
              for (size_t c = 0; c < depth; ++c) {
                sum += (x[pixel * s.channels + o / block * depth + c] - layer.zero_in) *
                       layer.weights[((kh * s.kernel_w + kw) * depth + c) * s.filters + o];
              }
            }
          }
          *y++ = requantise(sum, layer.multipliers[o], layer.to);
        }
      }
    }
  }
}

void max_pool2d(const Pool2dShape& shape, const int8_t* x, int8_t* y) { reference::max_pool2d_forward(shape, x, y); }

void average_pool2d(const Pool2dShape& shape, int8_t zero_in, float multiplier, const Target& to, const int8_t* x,
                    int8_t* y) {
  for (size_t o = 0; o < reference::pool_outputs(shape); ++o) {
    int32_t sum = 0;
    const size_t pixels = reference::for_each_window_pixel(shape, o, [&](size_t i) { sum += x[i] - zero_in; });
    const float mean = static_cast<float>(sum) / static_cast<float>(pixels);
    y[o] = rounded(mean * multiplier, to);
  }
}

void add(size_t count, const Summand& a, const Summand& b, const Target& to, int8_t* y) {
  for (size_t i = 0; i < count; ++i) {
    const float left = static_cast<float>(a.values[i] - a.zero) * a.multiplier;
    const float right = static_cast<float>(b.values[i] - b.zero) * b.multiplier;
    y[i] = rounded(left + right, to);
  }
}

void clamp(size_t count, int8_t low, int8_t high, const int8_t* x, int8_t* y) {
  for (size_t i = 0; i < count; ++i) y[i] = std::clamp(x[i], low, high);
}

void softmax(size_t count, const float* x, float* y) {
  const float top = *std::max_element(x, x + count);
  float sum = 0;
  for (size_t i = 0; i < count; ++i) {
    y[i] = exp_of(x[i] - top);
    sum += y[i];
  }
  for (size_t i = 0; i < count; ++i) y[i] /= sum;
}

}  // namespace coterie::kernels::int8
