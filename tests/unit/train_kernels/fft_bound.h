// What a convolution by Fourier transforms may be off by. The error of a transform of n values is one of their norm, at
// most gamma_7 log2(n) (Higham, "Accuracy and Stability of Numerical Algorithms", 24.1, with this radix and rounded
// turns); the sum over positions of |x_p| |w_p| is at most n |x|_2 |w|_2 (Cauchy and Schwarz, Parseval). So for each
// output
//
//   |error| <= gamma_n * sum over channels of |tile of x|_2 |w|_2      n = 21 log2(size^2) + 2 channels + 12
//
// with the 2 transforms there, the one back, the sums of products over channels, and the scale. The sum replaces the
// reference's sum of magnitudes: a small output beside large pixels is not more accurate than they are. On random
// operands roundings do not conspire, and sqrt(n) stands for n (Higham and Mary, "A New Approach to Probabilistic
// Rounding Error Analysis", 2019): about 16, where 0.2 to 0.6 is seen. A turn that is wrong in its fourth digit does
// not pass.
#pragma once

#include <cmath>
#include <vector>

#include "tests/unit/train_kernels/kernel_tester.h"
#include "train_kernels/fft_tiles.h"

namespace coterie::kernels::test {

inline double fft_roundings(const Conv2dShape& s) {
  const double all = 42 * std::log2(static_cast<double>(fft_size(s))) + 2 * static_cast<double>(s.channels / s.groups);
  return std::sqrt(all + 12);
}

// |tile of x|_2 of each channel; the tile of the output pixel (row, column) of image n.
inline Doubles tile_norms(const Conv2dShape& s, const FftTiles& tiles, size_t n, size_t row, size_t column,
                          const Doubles& x) {
  Doubles norms(s.channels);
  for (size_t i = 0; i < tiles.size; ++i) {
    for (size_t j = 0; j < tiles.size; ++j) {
      const size_t h = row / tiles.outputs_h * tiles.outputs_h + i - s.pad_top;  // wraps in the border
      const size_t w = column / tiles.outputs_w * tiles.outputs_w + j - s.pad_left;
      if (h >= s.height || w >= s.width) continue;
      for (size_t c = 0; c < s.channels; ++c) {
        const double pixel = x[((n * s.height + h) * s.width + w) * s.channels + c];
        norms[c] += pixel * pixel;
      }
    }
  }
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

// The right-hand side for every output.
inline Doubles fft_magnitude(const Conv2dShape& s, const Doubles& x, const Doubles& w) {
  const FftTiles tiles(s, fft_size(s));
  const size_t depth = s.channels / s.groups, kernels = depth * s.filters;
  Doubles weights(kernels);
  for (size_t i = 0; i < w.size(); ++i) weights[i % kernels] += w[i] * w[i];
  for (double& norm : weights) norm = std::sqrt(norm);
  Doubles y(s.batch * s.out_h() * s.out_w() * s.filters);
  std::vector<Doubles> norms(tiles.of_image());
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t t = 0; t < norms.size(); ++t) {
      norms[t] = tile_norms(s, tiles, n, t / tiles.columns * tiles.outputs_h, t % tiles.columns * tiles.outputs_w, x);
    }
    for (size_t i = 0; i < s.out_h(); ++i) {
      for (size_t j = 0; j < s.out_w(); ++j) {
        const Doubles& tile = norms[i / tiles.outputs_h * tiles.columns + j / tiles.outputs_w];
        double* to = &y[((n * s.out_h() + i) * s.out_w() + j) * s.filters];
        for (size_t o = 0; o < s.filters; ++o) {
          const size_t first = depth == s.channels ? 0 : o;
          for (size_t c = 0; c < depth; ++c) to[o] += tile[first + c] * weights[c * s.filters + o];
        }
      }
    }
  }
  return y;
}

}  // namespace coterie::kernels::test
