#include "tools/micro/kernel_text.h"

namespace coterie::micro_text {

const std::string_view kDenseShape = R"(typedef struct {
  size_t in, out;
} dense_shape;
)";

const std::string_view kConv2dShape = R"(typedef struct {
  size_t height, width, channels;       /* of the input */
  size_t out_h, out_w, filters;         /* of the output */
  size_t kernel_h, kernel_w;
  size_t stride_h, stride_w;
  size_t pad_top, pad_left;
  size_t groups, dilation_h, dilation_w;
} conv2d_shape;
)";

const std::string_view kPool2dShape = R"(typedef struct {
  size_t height, width, channels;       /* of the input */
  size_t out_h, out_w;                  /* of the output */
  size_t kernel_h, kernel_w;
  size_t stride_h, stride_w;
  size_t pad_top, pad_left;
} pool2d_shape;

/* The real pixels [begin, end) of one axis that lie under window `i`. */
static size_t window_begin(size_t i, size_t stride, size_t pad) {
  const size_t from = i * stride;
  return from > pad ? from - pad : 0;
}

static size_t window_end(size_t i, size_t stride, size_t pad, size_t kernel, size_t size) {
  const size_t to = i * stride + kernel;
  return (to < pad + size ? to : pad + size) - pad;
}
)";

const std::string_view kDense = R"(/* y[o] = bias[o] + x[0] w[0][o] + x[1] w[1][o] + ..., added from left to right. */
static void dense(const dense_shape *s, const float *x, const float *w, const float *bias, int has_relu, float *y) {
  for (size_t o = 0; o < s->out; ++o) {
    const float *column = w + o;
    float sum = bias != NULL ? bias[o] : 0.0f;
    for (size_t i = 0; i < s->in; ++i) {
      sum += x[i] * *column;
      column += s->out;
    }
    y[o] = has_relu && sum < 0.0f ? 0.0f : sum;
  }
}
)";

const std::string_view kConv2d =
    R"(/* Each output is its bias, then the products of its window row by row, channels
   innermost; padding adds nothing. */
static void conv2d(const conv2d_shape *s, const float *x, const float *w, const float *bias, int has_relu, float *y) {
  const size_t depth = s->channels / s->groups;
  const size_t block = s->filters / s->groups;
  for (size_t i = 0; i < s->out_h; ++i) {
    for (size_t j = 0; j < s->out_w; ++j) {
      for (size_t o = 0; o < s->filters; ++o) {
        float sum = bias != NULL ? bias[o] : 0.0f;
        for (size_t kh = 0; kh < s->kernel_h; ++kh) {
          const size_t row = i * s->stride_h + kh * s->dilation_h; /* of the padded image */
          if (row < s->pad_top || row >= s->pad_top + s->height) continue;
          for (size_t kw = 0; kw < s->kernel_w; ++kw) {
            const size_t column = j * s->stride_w + kw * s->dilation_w;
            if (column < s->pad_left || column >= s->pad_left + s->width) continue;
            const size_t pixel = (row - s->pad_top) * s->width + (column - s->pad_left);
            const float *pixels = x + pixel * s->channels + o / block * depth;
            const float *taps = w + (kh * s->kernel_w + kw) * depth * s->filters + o;
            for (size_t c = 0; c < depth; ++c) {
              sum += pixels[c] * *taps;
              taps += s->filters;
            }
          }
        }
        *y++ = has_relu && sum < 0.0f ? 0.0f : sum;
      }
    }
  }
}
)";

const std::string_view kMaxPool2d = R"(/* The largest of each window. */
static void max_pool2d(const pool2d_shape *s, const float *x, float *y) {
  for (size_t i = 0; i < s->out_h; ++i) {
    const size_t row_begin = window_begin(i, s->stride_h, s->pad_top);
    const size_t row_end = window_end(i, s->stride_h, s->pad_top, s->kernel_h, s->height);
    for (size_t j = 0; j < s->out_w; ++j) {
      const size_t begin = window_begin(j, s->stride_w, s->pad_left);
      const size_t end = window_end(j, s->stride_w, s->pad_left, s->kernel_w, s->width);
      for (size_t c = 0; c < s->channels; ++c) {
        float best = x[(row_begin * s->width + begin) * s->channels + c];
        for (size_t row = row_begin; row < row_end; ++row) {
          for (size_t column = begin; column < end; ++column) {
            const float value = x[(row * s->width + column) * s->channels + c];
            if (value > best) best = value;
          }
        }
        *y++ = best;
      }
    }
  }
}
)";

const std::string_view kAveragePool2d = R"(/* The mean of the real pixels of each window, added row by row. */
static void average_pool2d(const pool2d_shape *s, const float *x, float *y) {
  for (size_t i = 0; i < s->out_h; ++i) {
    const size_t row_begin = window_begin(i, s->stride_h, s->pad_top);
    const size_t row_end = window_end(i, s->stride_h, s->pad_top, s->kernel_h, s->height);
    for (size_t j = 0; j < s->out_w; ++j) {
      const size_t begin = window_begin(j, s->stride_w, s->pad_left);
      const size_t end = window_end(j, s->stride_w, s->pad_left, s->kernel_w, s->width);
      for (size_t c = 0; c < s->channels; ++c) {
        float sum = 0.0f;
        for (size_t row = row_begin; row < row_end; ++row) {
          for (size_t column = begin; column < end; ++column) {
            sum += x[(row * s->width + column) * s->channels + c];
          }
        }
        *y++ = sum / (float)((row_end - row_begin) * (end - begin));
      }
    }
  }
}
)";

const std::string_view kRelu = R"(/* y = max(x, 0); not a number stays what it is. y may be x. */
static void relu(size_t count, const float *x, float *y) {
  for (size_t i = 0; i < count; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
)";

const std::string_view kExp =
    R"(/* c[0] x^(n - 1) + ... + c[n - 1] by Horner's rule. */
static float polynomial(size_t n, const float *c, float x) {
  float sum = c[0];
  for (size_t i = 1; i < n; ++i) sum = sum * x + c[i];
  return sum;
}

/* e^x for x <= 0, within 2 units in the last place; below -87 it is 0. x = k ln 2 + r, where k is a whole number
   and |r| <= 0.35; e^r by its Taylor series to r^7 / 7!, whose rest is below 6e-9; then 2^k as the bits of a float. */
static float exp_of(float x) {
  static const float taylor[] = {1.98412698e-4f, 1.38888889e-3f, 8.33333333e-3f, 4.16666667e-2f,
                                 0.166666667f,   0.5f,           1.0f,           1.0f};
  union {
    uint32_t bits;
    float value;
  } power;
  int32_t k;
  float r;
  if (!(x >= -87.0f)) return x < 0.0f ? 0.0f : x; /* what is left is not a number */
  k = (int32_t)(x * 1.44269504f - 0.5f);          /* towards 0, hence the nearest */
  r = x - (float)k * 0.693359375f;                /* 355 / 512: the product is exact */
  r = r + (float)k * 2.12194440e-4f;              /* 355 / 512 - ln 2 */
  power.bits = (uint32_t)(k + 127) << 23;
  return polynomial(sizeof taylor / sizeof *taylor, taylor, r) * power.value;
}
)";

const std::string_view kLog =
    R"(/* The natural logarithm of a finite x >= 1, within 2 units in the last place from 2 on, and within 1e-7 below.
   x = 2^k m with m in [0.7, 1.42); log m = 2 (t + t^3 / 3 + ... + t^9 / 9) with t = (m - 1) / (m + 1), whose rest is
   below 8e-10. */
static float log_of(float x) {
  static const float odd[] = {0.111111111f, 0.142857143f, 0.2f, 0.333333333f};
  union {
    uint32_t bits;
    float value;
  } m;
  int32_t k = 0;
  float t, square, sum;
  if (!(x < 3.0e38f)) return x; /* infinite or not a number */
  m.value = x;
  k = (int32_t)(m.bits >> 23) - 127;
  m.bits = (m.bits & 0x007fffffu) | 0x3f800000u;
  if (m.value > 1.41421356f) {
    m.value = m.value * 0.5f;
    ++k;
  }
  t = (m.value - 1.0f) / (m.value + 1.0f);
  square = t * t;
  sum = polynomial(sizeof odd / sizeof *odd, odd, square);
  sum = 2.0f * t + 2.0f * t * square * sum;
  return (float)k * 0.693359375f + (sum - (float)k * 2.12194440e-4f);
}
)";

const std::string_view kSoftmax = R"(/* y[i] = e^(x[i] - max x) / sum, added from left to right. y may be x. */
static void softmax(size_t count, const float *x, float *y) {
  float top = x[0];
  float sum = 0.0f;
  for (size_t i = 1; i < count; ++i) {
    if (x[i] > top) top = x[i];
  }
  for (size_t i = 0; i < count; ++i) {
    y[i] = exp_of(x[i] - top);
    sum += y[i];
  }
  for (size_t i = 0; i < count; ++i) y[i] = y[i] / sum;
}
)";

}  // namespace coterie::micro_text
