// A convolution with a large kernel by Fourier transforms (overlap-save): y is cut into tiles, the `size` x `size`
// pixels of x under a tile are transformed, multiplied by the transform of the kernel and transformed back. Source:
// Press et al., "Numerical Recipes", 3rd edition, 13.1.
#pragma once

#include <cstddef>

#include "train_kernels/lanes.h"
#include "train_kernels/shapes.h"

namespace coterie::kernels {

// Sizes of a transform: 2^a and 3 * 2^a, so that a tile wastes little.
inline constexpr size_t kFftSizes[] = {16, 24, 32, 48, 64, 96};
// Smaller kernels are left to sums of products.
inline constexpr size_t kFftKernelMin = 7;
// A tile has at least so many outputs along an axis.
inline constexpr size_t kFftOutputsMin = 4;

struct FftTiles {
  constexpr FftTiles(const Conv2dShape& s, size_t transform)
      : size(transform),
        frequencies(transform / 2 + 1),
        outputs_h(transform - s.kernel_h + 1),
        outputs_w(transform - s.kernel_w + 1),
        rows((s.out_h() + outputs_h - 1) / outputs_h),
        columns((s.out_w() + outputs_w - 1) / outputs_w) {}

  constexpr size_t of_image() const { return rows * columns; }
  // The transform of real pixels: the others are these, conjugated.
  constexpr size_t positions() const { return size * frequencies; }
  // Multiplied at a time, of all images: as many as fill about a megabyte with their transforms and products.
  constexpr size_t at_once(const Conv2dShape& s) const {
    const size_t fitting = (size_t{1} << 18) / (positions() * (3 * s.channels + 2 * s.filters));
    const size_t wanted = fitting < 4 ? 4 : fitting > 24 ? 24 : fitting, all = s.batch * of_image();
    return wanted < all ? wanted : all;
  }

  size_t size, frequencies, outputs_h, outputs_w, rows, columns;
};

// Multiplies that take the time of one transform of a line.
constexpr double fft_line_cost(size_t size) {
  double levels = 3;  // the line is gathered, and its half taken apart
  for (size_t left = size; left > 1; left = left % 4 == 0 ? left / 4 : left % 3 == 0 ? left / 3 : left / 2) {
    levels += left % 4 == 0 ? 2 : 1.6;
  }
  return 5 * static_cast<double>(size) * levels;
}

// Multiplies of one image, counted as conv2d_algorithm.h does, with lanes that idle: a transform takes whole vectors.
// Rows that are zeros, or cut off, are not transformed.
constexpr double fft_cost(const Conv2dShape& s, size_t size) {
  const auto whole = [](size_t n) { return static_cast<double>((n + kLanesMax - 1) / kLanesMax * kLanesMax); };
  const FftTiles tiles(s, size);
  const double line = fft_line_cost(size), positions = static_cast<double>(tiles.positions());
  const double channels = whole(s.channels), filters = whole(s.filters), images = static_cast<double>(tiles.of_image());
  const auto lines = [&](size_t rows) { return line * static_cast<double>((rows + 1) / 2 + tiles.frequencies); };
  const double there = lines(s.height < size ? s.height : size), weights = lines(s.kernel_h);
  const double back = lines(s.out_h() < tiles.outputs_h ? s.out_h() : tiles.outputs_h);
  // Measured: a column that is multiplied on the way takes longer than the sum of both.
  if (s.is_depthwise()) return 1.1 * channels * (images * (there + back + 12 * positions) + weights);
  const double products = positions * static_cast<double>(s.channels) * filters;
  return images * (there * channels + back * filters + 4 * products) +
         static_cast<double>(s.channels) * filters * 1.5 * weights + 6 * products;
}

// Bytes of the transformed weights of a convolution that is not depthwise.
constexpr size_t fft_weight_bytes(const Conv2dShape& s, size_t size) {
  return FftTiles(s, size).positions() * 2 * s.channels * s.filters * sizeof(float);
}

// Transformed weights may take so much memory, in bytes.
inline constexpr size_t kFftWeightBytesMax = size_t{12} << 20;

// The size that costs least with weights within that limit; 0: none fits the shape.
constexpr size_t fft_size(const Conv2dShape& s) {
  const bool is_plain = s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1 &&
                        (s.groups == 1 || s.is_depthwise());
  if (!is_plain || s.kernel_h < kFftKernelMin || s.kernel_w < kFftKernelMin) return 0;
  size_t best = 0;
  for (const size_t size : kFftSizes) {
    if (size < s.kernel_h + kFftOutputsMin - 1 || size < s.kernel_w + kFftOutputsMin - 1) continue;
    if (!s.is_depthwise() && fft_weight_bytes(s, size) > kFftWeightBytesMax) break;
    if (best == 0 || fft_cost(s, size) < fft_cost(s, best)) best = size;
  }
  return best;
}

}  // namespace coterie::kernels
