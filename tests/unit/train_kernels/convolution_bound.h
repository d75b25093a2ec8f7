// What the result of a convolution may be off by, with the algorithm that computes its shape.
#pragma once

#include "tests/unit/train_kernels/fft_bound.h"
#include "tests/unit/train_kernels/winograd_bound.h"
#include "train_kernels/workspace.h"

namespace coterie::kernels::test {

// The bound of a convolution without bias: the algorithm's where the shape is computed so, else `direct` with one
// rounding a product. x, w and direct are magnitudes.
struct ConvolutionBound {
  ConvolutionBound(const Conv2dShape& s, const Doubles& x, const Doubles& w, const Doubles& direct)
      : magnitude(direct) {
    if (conv2d_algorithm(s) == Conv2dAlgorithm::fft) {
      magnitude = fft_magnitude(s, x, w);
      relative = gamma(fft_roundings(s));
      return;
    }
    const size_t outputs = winograd_outputs(conv2d_algorithm(s));
    relative = gamma(static_cast<double>(outputs == 0 ? s.taps() + 2 : s.channels + 50));
    if (outputs != 0) magnitude = winograd_magnitude(s, outputs, x, w);
  }
  Doubles magnitude;
  double relative;
};

// w of the convolution of dy that is dX: turned half round, channels and filters in each other's place.
inline Doubles turned_weights(const Conv2dShape& s, const Doubles& w) {
  const size_t taps = s.kernel_h * s.kernel_w;
  Doubles turned(w.size());
  if (s.is_depthwise()) {
    for (size_t i = 0; i < w.size(); ++i) turned[(taps - 1 - i / s.channels) * s.channels + i % s.channels] = w[i];
    return turned;
  }
  for (size_t t = 0; t < taps; ++t) {
    for (size_t c = 0; c < s.channels; ++c) {
      for (size_t o = 0; o < s.filters; ++o) {
        turned[((taps - 1 - t) * s.filters + o) * s.channels + c] = w[(t * s.channels + c) * s.filters + o];
      }
    }
  }
  return turned;
}

// The same for dX.
inline ConvolutionBound gradient_bound(const Conv2dShape& s, const Doubles& dy, const Doubles& w,
                                       const Doubles& direct) {
  const Conv2dShape turned = convolution_of_gradient(s);
  if (gradient_is_fft(s) ||
      (s.groups == 1 && gradient_is_convolution(s) && winograd_outputs(conv2d_algorithm(turned)) != 0)) {
    return ConvolutionBound(turned, dy, turned_weights(s, w), direct);
  }
  ConvolutionBound bound(Conv2dShape{1, 1, 1, 1, 1, 1, 1}, {}, {}, direct);
  bound.relative = gamma(static_cast<double>(s.kernel_h * s.kernel_w * s.filters / s.groups) + 1);
  return bound;
}

}  // namespace coterie::kernels::test
