// How a convolution is computed, chosen by a cost model from its shape: the same on every machine, so that a
// memory plan and a result's bits follow from the model, and without the batch, so that a slice is computed
// as the whole is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "train_kernels/fft_tiles.h"
#include "train_kernels/shapes.h"
#include "train_kernels/workspace.h"

namespace coterie::kernels {

enum class Conv2dAlgorithm : uint8_t {
  dense,         // 1 x 1: one matrix product over pixels
  depthwise,     // a sum of products a channel
  direct,        // matrix products over patches that are read in place
  winograd_2x2,  // F(2x2, 3x3): 4 multiplies an output instead of 9
  winograd_4x4,  // F(4x4, 3x3): 2.25
  fft,           // a large kernel, by Fourier transforms of tiles (fft_tiles.h)
};

constexpr std::string_view name_of(Conv2dAlgorithm algorithm) {
  switch (algorithm) {
    case Conv2dAlgorithm::dense: return "dense";
    case Conv2dAlgorithm::depthwise: return "depthwise";
    case Conv2dAlgorithm::direct: return "direct";
    case Conv2dAlgorithm::winograd_2x2: return "winograd 2x2";
    case Conv2dAlgorithm::winograd_4x4: return "winograd 4x4";
    case Conv2dAlgorithm::fft: return "fft";
  }
  return "";
}

// Columns of neighbouring output pixels that a convolution with few filters computes as one (simd/widen_inl.h) at most.
inline constexpr size_t kJoinedMax = 24;

// Winograd's minimal filtering F(m x m, 3 x 3) cuts y into tiles of m x m outputs, each from (m + 2) x (m +
// 2) pixels. Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016.
struct WinogradTiles {
  constexpr WinogradTiles(const Conv2dShape& s, size_t tile_outputs)
      : outputs(tile_outputs),
        positions((outputs + 2) * (outputs + 2)),
        rows((s.out_h() + outputs - 1) / outputs),
        columns((s.out_w() + outputs - 1) / outputs) {}

  constexpr size_t of_image() const { return rows * columns; }
  constexpr size_t image_rows() const { return rows * outputs + 2; }  // with borders, and what the last tiles reach
  constexpr size_t image_columns() const { return columns * outputs + 2; }
  // Transformed at a time: as many as fill half a megabyte with their pixels and products, but enough rows
  // for a matrix product to be worth reading the weights.
  constexpr size_t at_once(const Conv2dShape& s) const {
    const size_t fitting = (size_t{1} << 18) / (positions * (s.channels + s.filters)) / 8 * 8;
    return fitting < 48 ? 48 : fitting > 192 ? 192 : fitting;
  }

  // Images whose tiles are taken together: as many as give at_once() tiles.
  constexpr size_t images(const Conv2dShape& s) const {
    const size_t wanted = at_once(s) / of_image();
    return wanted <= 1 ? 1 : wanted < s.batch ? wanted : s.batch;
  }
  // Tiles transformed at a time at most: no more than those images have.
  constexpr size_t held(const Conv2dShape& s) const {
    const size_t wanted = at_once(s), all = images(s) * of_image();
    return wanted < all ? wanted : all;
  }
  constexpr Conv2dShape bordered(const Conv2dShape& s) const {
    Conv2dShape wide = s;
    wide.pad_bottom += image_rows() - s.padded_h();
    wide.pad_right += image_columns() - s.padded_w();
    return wide;
  }

  size_t outputs, positions, rows, columns;
};

// Transformed weights may take so much memory, in bytes.
inline constexpr size_t kWinogradWeightBytesMax = size_t{12} << 20;

// Multiplies of one image, those that a vector does at once counted once, with the transforms at what they
// take of a multiply's time: about 13 and 5 additions, loads and stores a pixel of a tile's input and a
// product.
constexpr double winograd_cost(const Conv2dShape& s, size_t outputs) {
  const WinogradTiles tiles(s, outputs);
  const auto positions = static_cast<double>(tiles.positions);
  const auto channels = static_cast<double>(s.channels), filters = static_cast<double>(s.filters);
  const double products = positions * channels * filters;
  const double transforms = 14 * positions * (channels + filters);
  return static_cast<double>(tiles.of_image()) * (products + transforms) + 3 * products;
}
constexpr double direct_cost(const Conv2dShape& s) {
  return static_cast<double>(s.out_h() * s.out_w() * s.taps()) * static_cast<double>(s.filters);
}
// The cost of a depthwise convolution with stride and dilation 1, without taps on padding; lanes that idle count.
// Each product reads its pixel, and the rows under a tall kernel do not stay in L1: measured, 2.4 multiplies' time with
// 7 rows and 5.3 with 31.
constexpr double depthwise_cost(const Conv2dShape& s) {
  const auto met = [](size_t out, size_t in, size_t kernel, size_t pad) {
    size_t taps = 0;
    for (size_t i = 0; i < out; ++i) {
      const size_t begin = i < pad ? pad : i, end = i + kernel < pad + in ? i + kernel : pad + in;
      taps += begin < end ? end - begin : 0;
    }
    return static_cast<double>(taps);
  };
  return met(s.out_h(), s.height, s.kernel_h, s.pad_top) * met(s.out_w(), s.width, s.kernel_w, s.pad_left) *
         static_cast<double>((s.channels + kLanesMax - 1) / kLanesMax * kLanesMax) *
         (1.6 + 0.12 * static_cast<double>(s.kernel_h));
}

// How many outputs a tile of the algorithm has along an axis; 0: it has none.
constexpr size_t winograd_outputs(Conv2dAlgorithm algorithm) {
  return algorithm == Conv2dAlgorithm::winograd_2x2 ? 2 : algorithm == Conv2dAlgorithm::winograd_4x4 ? 4 : 0;
}

// An algorithm must be so many times as fast as one with a smaller error. With this gain and the channels below the
// regret over drawn shapes is under 5 % (ADR 194).
inline constexpr double kAlgorithmGain = 1.15;
// Fewer channels or filters fill no vector of a Winograd product.
inline constexpr size_t kWinogradChannelsMin = 8;

// Whether this way computes the convolution at all.
constexpr bool may_compute(const Conv2dShape& s, Conv2dAlgorithm algorithm,
                           size_t weight_bytes_max = kWinogradWeightBytesMax) {
  const size_t outputs = winograd_outputs(algorithm);
  switch (algorithm) {
    case Conv2dAlgorithm::dense: return s.is_pointwise();
    case Conv2dAlgorithm::depthwise: return s.is_depthwise();
    case Conv2dAlgorithm::direct: return !s.is_pointwise() && !s.is_depthwise();
    case Conv2dAlgorithm::winograd_2x2:
    case Conv2dAlgorithm::winograd_4x4:
      return kHasWinograd && (outputs == 2 || kHasWinograd4x4) && s.kernel_h == 3 && s.kernel_w == 3 &&
             s.stride_h == 1 && s.stride_w == 1 && s.groups == 1 && s.dilation_h == 1 && s.dilation_w == 1 &&
             (outputs + 2) * (outputs + 2) * s.channels * s.filters * sizeof(float) <= weight_bytes_max;
    case Conv2dAlgorithm::fft: return kHasFft && fft_size(s) != 0;
  }
  return false;
}

// Whoever measures ways against each other (tests/bench/conv2d_regret.cc) sets the one that is taken wherever it may
// be. Nobody else does: the bits of a result follow from its shape. Not for use beside other threads.
inline constinit std::optional<Conv2dAlgorithm> measured_algorithm;

constexpr bool is_measured(const Conv2dShape& s) {
  return !std::is_constant_evaluated() && measured_algorithm && may_compute(s, *measured_algorithm);
}

// Transforms pay: their error is that of a norm, not of each product (tests/unit/train_kernels/fft_bound.h).
constexpr bool fft_pays(const Conv2dShape& s) {
  if (!kHasFft) return false;
  if (is_measured(s)) return *measured_algorithm == Conv2dAlgorithm::fft;
  const size_t size = fft_size(s);
  const double direct = s.is_depthwise() ? depthwise_cost(s) : direct_cost(s);
  return size != 0 && fft_cost(s, size) * kAlgorithmGain < direct;
}

// The algorithm of the forward pass. The error of F(2x2) is a few times that of a direct sum, that of F(4x4) about ten
// times as large (tests/unit/train_kernels/winograd_test.cc has the bounds), so each must save much of what
// is before it.
constexpr Conv2dAlgorithm conv2d_algorithm(const Conv2dShape& s, size_t weight_bytes_max = kWinogradWeightBytesMax) {
  if (fft_pays(s)) return Conv2dAlgorithm::fft;
  if (s.is_depthwise()) return Conv2dAlgorithm::depthwise;
  if (s.is_pointwise()) return Conv2dAlgorithm::dense;
  if (is_measured(s)) return *measured_algorithm;
  if (s.channels < kWinogradChannelsMin || s.filters < kWinogradChannelsMin) return Conv2dAlgorithm::direct;
  Conv2dAlgorithm best = Conv2dAlgorithm::direct;
  double cost = direct_cost(s);
  for (const Conv2dAlgorithm tiles : {Conv2dAlgorithm::winograd_2x2, Conv2dAlgorithm::winograd_4x4}) {
    if (!may_compute(s, tiles, weight_bytes_max)) break;
    const double with = winograd_cost(s, winograd_outputs(tiles));
    if (with * kAlgorithmGain > cost) continue;
    cost = with;
    best = tiles;
  }
  return best;
}

// dx is made by transforms: the algorithm of convolution_of_gradient(shape) where dx is made so, or could be.
constexpr bool gradient_is_fft(const Conv2dShape& s) {
  if (!kHasFft) return false;
  const bool may_be = s.is_depthwise()
                          ? s.stride_h == 1 && s.stride_w == 1 && s.pad_top < s.extent_h() &&
                                s.pad_bottom < s.extent_h() && s.pad_left < s.extent_w() && s.pad_right < s.extent_w()
                          : gradient_is_convolution(s);
  return may_be && fft_pays(convolution_of_gradient(s));
}

// Where cuts between the rows of y, or dx, repeat no work of a tile: multiples of that.
constexpr size_t conv2d_row_grain(const Conv2dShape& s) {
  return fft_pays(s) ? FftTiles(s, fft_size(s)).outputs_h : kConv2dRowGrain;
}
constexpr size_t conv2d_gradient_row_grain(const Conv2dShape& s) {
  return gradient_is_fft(s) ? conv2d_row_grain(convolution_of_gradient(s)) : kConv2dRowGrain;
}

}  // namespace coterie::kernels
