// What Winograd's convolution may be off by. Each value passes a fixed number of roundings in the transforms
// and one a channel in the sums, so with the matrices of simd/winograd.cc (Lavin and Gray, 2016)
//
//   |error| <= gamma_n |A^T| [(|G| |w| |G^T|) (|B^T| |x| |B|)] |A|      n = channels + 50
//
// componentwise (Higham, "Accuracy and Stability of Numerical Algorithms", 3.1): the sum on the right
// replaces the reference's sum of magnitudes. It is larger, because a tile's pixels that cancel are in it.
#pragma once

#include <cmath>
#include <cstdlib>
#include <vector>

#include "tests/unit/train_kernels/kernel_tester.h"
#include "train_kernels/conv2d_algorithm.h"

namespace coterie::kernels::test {

// Absolute values of B^T, G and A^T of F(outputs, 3), row-major.
struct WinogradMatrices {
  explicit WinogradMatrices(size_t outputs) {
    if (outputs == 2) {
      input = {1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1};
      weights = {1, 0, 0, .5, .5, .5, .5, .5, .5, 0, 0, 1};
      output = {1, 1, 1, 0, 0, 1, 1, 1};
    } else {
      input = {4, 0, 5, 0, 1, 0, 0, 4, 4, 1, 1, 0, 0, 4, 4, 1, 1, 0,
               0, 2, 1, 2, 1, 0, 0, 2, 1, 2, 1, 0, 0, 4, 0, 5, 0, 1};
      weights = {1. / 4,  0,       0,      1. / 6,  1. / 6,  1. / 6, 1. / 6, 1. / 6, 1. / 6,
                 1. / 24, 1. / 12, 1. / 6, 1. / 24, 1. / 12, 1. / 6, 0,      0,      1};
      output = {1, 1, 1, 1, 1, 0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 4, 4, 0, 0, 1, 1, 8, 8, 1};
    }
  }
  Doubles input, weights, output;
};

// m[rows, n] z[n, n] m^T.
inline Doubles both_sides(const Doubles& m, const Doubles& z, size_t rows, size_t n) {
  Doubles half(rows * n), all(rows * rows);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t k = 0; k < n; ++k) half[i * n + j] += m[i * n + k] * z[k * n + j];
    }
  }
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < rows; ++j) {
      for (size_t k = 0; k < n; ++k) all[i * rows + j] += half[i * n + k] * m[j * n + k];
    }
  }
  return all;
}

// The right-hand side for every output; x and w are magnitudes.
inline Doubles winograd_magnitude(const Conv2dShape& s, size_t outputs, const Doubles& x, const Doubles& w) {
  const WinogradMatrices m(outputs);
  const size_t size = outputs + 2, positions = size * size;
  std::vector<Doubles> weights(s.channels * s.filters);
  for (size_t i = 0; i < weights.size(); ++i) {
    Doubles taps(9);
    for (size_t t = 0; t < 9; ++t) taps[t] = w[t * weights.size() + i];
    weights[i] = both_sides(m.weights, taps, size, 3);
  }
  Doubles y(s.batch * s.out_h() * s.out_w() * s.filters);
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t i = 0; i < s.out_h(); i += outputs) {
      for (size_t j = 0; j < s.out_w(); j += outputs) {
        std::vector<Doubles> products(s.filters, Doubles(positions));
        for (size_t c = 0; c < s.channels; ++c) {
          Doubles tile(positions);
          for (size_t p = 0; p < positions; ++p) {
            const size_t row = i + p / size - s.pad_top,
                         column = j + p % size - s.pad_left;  // wraps in the border
            if (row < s.height && column < s.width) {
              tile[p] = x[((n * s.height + row) * s.width + column) * s.channels + c];
            }
          }
          const Doubles input = both_sides(m.input, tile, size, size);
          for (size_t o = 0; o < s.filters; ++o) {
            for (size_t p = 0; p < positions; ++p) products[o][p] += input[p] * weights[c * s.filters + o][p];
          }
        }
        for (size_t o = 0; o < s.filters; ++o) {
          const Doubles out = both_sides(m.output, products[o], outputs, size);
          for (size_t p = 0; p < out.size(); ++p) {
            const size_t row = i + p / outputs, column = j + p % outputs;
            if (row >= s.out_h() || column >= s.out_w()) continue;
            y[((n * s.out_h() + row) * s.out_w() + column) * s.filters + o] = out[p];
          }
        }
      }
    }
  }
  return y;
}

}  // namespace coterie::kernels::test
