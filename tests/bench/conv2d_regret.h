// How much time the cost model of convolutions gives away: over many shapes, the way that it chooses beside the fastest
// one that was measured.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/random.h"
#include "train_kernels/conv2d_algorithm.h"

namespace coterie::bench {

// Those of networks for phones: channels that grow as images shrink, kernels mostly of 3 and 1, some depthwise.
inline kernels::Conv2dShape drawn_shape(Prng& prng) {
  constexpr size_t kSizes[] = {7, 14, 28, 56, 112}, kKernels[] = {3, 3, 3, 3, 5, 5, 7, 9, 11, 1};
  constexpr size_t kBatches[] = {1, 1, 4, 8};
  const size_t level = prng.below(std::size(kSizes)), size = kSizes[level];
  // 16 channels at 112 pixels, 256 at 7, and half or twice that.
  const auto channels = [&] {
    const double typical = 16 * std::exp2(static_cast<double>(std::size(kSizes) - 1 - level));
    return std::max<size_t>(8, static_cast<size_t>(typical * prng.uniform(.5, 2)) / 8 * 8);
  };
  const size_t kernel = kKernels[prng.below(std::size(kKernels))];
  const bool is_depthwise = kernel > 1 && prng.below(4) == 0;
  const size_t in = channels(), out = is_depthwise ? in : channels(), pad = kernel / 2;
  const size_t stride = prng.below(5) == 0 ? 2 : 1;
  return {.batch = kBatches[prng.below(std::size(kBatches))],
          .height = size,
          .width = size,
          .channels = in,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .filters = out,
          .stride_h = stride,
          .stride_w = stride,
          .pad_top = pad,
          .pad_left = pad,
          .pad_bottom = pad,
          .pad_right = pad,
          .groups = is_depthwise ? in : 1};
}

inline std::vector<kernels::Conv2dAlgorithm> algorithms_of(const kernels::Conv2dShape& s) {
  using enum kernels::Conv2dAlgorithm;
  std::vector<kernels::Conv2dAlgorithm> found;
  for (const auto algorithm : {dense, depthwise, direct, winograd_2x2, winograd_4x4, fft}) {
    if (kernels::may_compute(s, algorithm)) found.push_back(algorithm);
  }
  return found;
}

// Those alone that have a choice: where one way alone computes a convolution there is nothing to regret.
inline std::vector<kernels::Conv2dShape> drawn_shapes(size_t count, uint64_t seed) {
  Prng prng(seed);
  std::vector<kernels::Conv2dShape> shapes;
  while (shapes.size() < count) {
    const kernels::Conv2dShape shape = drawn_shape(prng);
    if (algorithms_of(shape).size() > 1) shapes.push_back(shape);
  }
  return shapes;
}

struct Timed {
  kernels::Conv2dAlgorithm algorithm;
  double seconds;
};

// The time of the chosen way over that of the fastest, less 1; the chosen one is among them.
inline double regret_of(kernels::Conv2dAlgorithm chosen, std::span<const Timed> timed) {
  const double best = std::ranges::min_element(timed, {}, &Timed::seconds)->seconds;
  return std::ranges::find(timed, chosen, &Timed::algorithm)->seconds / best - 1;
}

struct Regret {
  double mean = 0, largest = 0;
  size_t shapes = 0, best_chosen = 0;  // of which so many had the fastest way

  void add(double regret) {
    mean += (regret - mean) / static_cast<double>(++shapes);
    largest = std::max(largest, regret);
    best_chosen += regret == 0 ? 1 : 0;
  }
};

}  // namespace coterie::bench
