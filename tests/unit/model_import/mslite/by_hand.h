// What layers compute, by plain loops over their definition: images are [height, width, channels], weights those of
// MsliteBuild::weights(). The padding before the image and the size of the answer are given, worked out by hand.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "tests/unit/model_import/mslite/mslite_build.h"

namespace coterie::test {

using Numbers = std::vector<double>;

struct ImageSize {
  int h = 1, w = 1, c = 1;
};
struct Geometry {
  int kernel_h = 1, kernel_w = 1, stride = 1, dilation = 1, top = 0, left = 0, group = 1;
};

inline double at(const Numbers& x, const ImageSize& size, int h, int w, int c) {
  return x[static_cast<size_t>((h * size.w + w) * size.c + c)];
}
inline bool is_inside(const ImageSize& size, int h, int w) { return h >= 0 && h < size.h && w >= 0 && w < size.w; }
inline double weight(int i) { return static_cast<double>(weight_at(static_cast<size_t>(i))); }

// Weights [outputs, height, width, inputs of a group].
inline Numbers convolved(const Numbers& x, const ImageSize& in, const ImageSize& out, const Geometry& g) {
  const int own = in.c / g.group, filters = out.c / g.group;
  Numbers y;
  for (int h = 0; h < out.h; ++h) {
    for (int w = 0; w < out.w; ++w) {
      for (int o = 0; o < out.c; ++o) {
        double sum = 0;
        for (int i = 0; i < g.kernel_h; ++i) {
          for (int j = 0; j < g.kernel_w; ++j) {
            const int from_h = h * g.stride + i * g.dilation - g.top, from_w = w * g.stride + j * g.dilation - g.left;
            if (!is_inside(in, from_h, from_w)) continue;
            for (int c = 0; c < own; ++c) {
              sum += at(x, in, from_h, from_w, o / filters * own + c) *
                     weight(((o * g.kernel_h + i) * g.kernel_w + j) * own + c);
            }
          }
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

// Weights [inputs, height, width, outputs of a group]: each number of the input is added to the answer times its
// weights.
inline Numbers transposed(const Numbers& x, const ImageSize& in, const ImageSize& out, const Geometry& g) {
  const int own = out.c / g.group, inputs = in.c / g.group;
  Numbers y(static_cast<size_t>(out.h * out.w * out.c));
  for (int h = 0; h < in.h; ++h) {
    for (int w = 0; w < in.w; ++w) {
      for (int c = 0; c < in.c; ++c) {
        for (int i = 0; i < g.kernel_h; ++i) {
          for (int j = 0; j < g.kernel_w; ++j) {
            const int to_h = h * g.stride + i * g.dilation - g.top, to_w = w * g.stride + j * g.dilation - g.left;
            if (!is_inside(out, to_h, to_w)) continue;
            for (int o = 0; o < own; ++o) {
              y[static_cast<size_t>((to_h * out.w + to_w) * out.c + c / inputs * own + o)] +=
                  at(x, in, h, w, c) * weight(((c * g.kernel_h + i) * g.kernel_w + j) * own + o);
            }
          }
        }
      }
    }
  }
  return y;
}

// The largest of what lies inside, or the mean.
inline Numbers pooled(const Numbers& x, const ImageSize& in, const ImageSize& out, const Geometry& g, bool is_max) {
  Numbers y;
  for (int h = 0; h < out.h; ++h) {
    for (int w = 0; w < out.w; ++w) {
      for (int c = 0; c < out.c; ++c) {
        double sum = 0, most = -HUGE_VAL, count = 0;
        for (int i = 0; i < g.kernel_h; ++i) {
          for (int j = 0; j < g.kernel_w; ++j) {
            const int from_h = h * g.stride + i - g.top, from_w = w * g.stride + j - g.left;
            if (!is_inside(in, from_h, from_w)) continue;
            sum += at(x, in, from_h, from_w, c), most = std::max(most, at(x, in, from_h, from_w, c)), ++count;
          }
        }
        y.push_back(is_max ? most : sum / count);
      }
    }
  }
  return y;
}

// x [rows, inputs] times the transpose of weights [outputs, inputs].
inline Numbers multiplied(const Numbers& x, int inputs, int outputs) {
  Numbers y;
  for (size_t row = 0; row * static_cast<size_t>(inputs) < x.size(); ++row) {
    for (int o = 0; o < outputs; ++o) {
      double sum = 0;
      for (int i = 0; i < inputs; ++i)
        sum += x[row * static_cast<size_t>(inputs) + static_cast<size_t>(i)] * weight(o * inputs + i);
      y.push_back(sum);
    }
  }
  return y;
}

// Each number, with its place in the last dimension.
inline Numbers each(Numbers x, int last, const std::function<double(double, int)>& compute) {
  for (size_t i = 0; i < x.size(); ++i) x[i] = compute(x[i], static_cast<int>(i) % last);
  return x;
}
inline Numbers each(const Numbers& x, const std::function<double(double)>& compute) {
  return each(x, 1, [&](double value, int) { return compute(value); });
}
inline Numbers with_bias(const Numbers& x, int last) {
  return each(x, last, [](double value, int i) { return value + weight(i); });
}
inline Numbers relu(const Numbers& x) {
  return each(x, [](double value) { return std::max(0.0, value); });
}

}  // namespace coterie::test
