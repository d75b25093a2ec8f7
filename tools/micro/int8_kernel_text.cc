#include "tools/micro/int8_kernel_text.h"

namespace coterie::micro_text {

const std::string_view kInt8Rounded =
    R"(/* Where a result goes: its zero and its bounds, which are also the ReLU or clip behind the step. */
typedef struct {
  int32_t zero, low, high;
} int8_target;

/* value + zero, rounded to nearest, ties to even, within the bounds; what is not a number is the lower one. Behind the
   bounds |value| is below 2^9, so that adding 3 * 2^22 leaves no fraction, and rounds as IEEE 754 does. */
static int8_t int8_rounded(float value, const int8_target *to) {
  const float low = (float)(to->low - to->zero);
  const float high = (float)(to->high - to->zero);
  if (!(value > low)) value = low;
  if (value > high) value = high;
  value = (value + 12582912.0f) - 12582912.0f;
  return (int8_t)((int32_t)value + to->zero);
}
)";

const std::string_view kInt8Quantise =
    R"(static void int8_quantise(size_t count, float scale, int32_t zero, const float *x, int8_t *y) {
  int8_target to;
  to.zero = zero;
  to.low = -128;
  to.high = 127;
  for (size_t i = 0; i < count; ++i) y[i] = int8_rounded(x[i] / scale, &to);
}
)";

const std::string_view kInt8Dequantise =
    R"(static void int8_dequantise(size_t count, float scale, int32_t zero, const int8_t *x, float *y) {
  for (size_t i = 0; i < count; ++i) y[i] = scale * (float)(x[i] - zero);
}
)";

const std::string_view kInt8Dense = R"(/* y[o] = (bias[o] + sum of (x[i] - zero) w[i][o]) * multiplier[o], rounded. */
static void int8_dense(const dense_shape *s, const int8_t *x, int32_t zero, const int8_t *w, const int32_t *bias,
                       const float *multipliers, const int8_target *to, int8_t *y) {
  for (size_t o = 0; o < s->out; ++o) {
    const int8_t *column = w + o;
    int32_t sum = bias[o];
    for (size_t i = 0; i < s->in; ++i) {
      sum += (x[i] - zero) * *column;
      column += s->out;
    }
    y[o] = int8_rounded((float)sum * multipliers[o], to);
  }
}
)";

const std::string_view kInt8Conv2d = R"(/* As a dense layer over each window; padding is zero, and adds nothing. */
static void int8_conv2d(const conv2d_shape *s, const int8_t *x, int32_t zero, const int8_t *w, const int32_t *bias,
                        const float *multipliers, const int8_target *to, int8_t *y) {
  const size_t depth = s->channels / s->groups;
  const size_t block = s->filters / s->groups;
  for (size_t i = 0; i < s->out_h; ++i) {
    for (size_t j = 0; j < s->out_w; ++j) {
      for (size_t o = 0; o < s->filters; ++o) {
        int32_t sum = bias[o];
        for (size_t kh = 0; kh < s->kernel_h; ++kh) {
          const size_t row = i * s->stride_h + kh * s->dilation_h; /* of the padded image */
          if (row < s->pad_top || row >= s->pad_top + s->height) continue;
          for (size_t kw = 0; kw < s->kernel_w; ++kw) {
            const size_t column = j * s->stride_w + kw * s->dilation_w;
            if (column < s->pad_left || column >= s->pad_left + s->width) continue;
            const size_t pixel = (row - s->pad_top) * s->width + (column - s->pad_left);
            const int8_t *pixels = x + pixel * s->channels + o / block * depth;
            const int8_t *taps = w + (kh * s->kernel_w + kw) * depth * s->filters + o;
            for (size_t c = 0; c < depth; ++c) {
              sum += (pixels[c] - zero) * *taps;
              taps += s->filters;
            }
          }
        }
        *y++ = int8_rounded((float)sum * multipliers[o], to);
      }
    }
  }
}
)";

const std::string_view kInt8MaxPool2d = R"(/* The largest of each window. */
static void int8_max_pool2d(const pool2d_shape *s, const int8_t *x, int8_t *y) {
  for (size_t i = 0; i < s->out_h; ++i) {
    const size_t row_begin = window_begin(i, s->stride_h, s->pad_top);
    const size_t row_end = window_end(i, s->stride_h, s->pad_top, s->kernel_h, s->height);
    for (size_t j = 0; j < s->out_w; ++j) {
      const size_t begin = window_begin(j, s->stride_w, s->pad_left);
      const size_t end = window_end(j, s->stride_w, s->pad_left, s->kernel_w, s->width);
      for (size_t c = 0; c < s->channels; ++c) {
        int8_t best = x[(row_begin * s->width + begin) * s->channels + c];
        for (size_t row = row_begin; row < row_end; ++row) {
          for (size_t column = begin; column < end; ++column) {
            const int8_t value = x[(row * s->width + column) * s->channels + c];
            if (value > best) best = value;
          }
        }
        *y++ = best;
      }
    }
  }
}
)";

const std::string_view kInt8AveragePool2d =
    R"(/* The mean of the real pixels of each window, times the multiplier, rounded. */
static void int8_average_pool2d(const pool2d_shape *s, const int8_t *x, int32_t zero, float multiplier,
                                const int8_target *to, int8_t *y) {
  for (size_t i = 0; i < s->out_h; ++i) {
    const size_t row_begin = window_begin(i, s->stride_h, s->pad_top);
    const size_t row_end = window_end(i, s->stride_h, s->pad_top, s->kernel_h, s->height);
    for (size_t j = 0; j < s->out_w; ++j) {
      const size_t begin = window_begin(j, s->stride_w, s->pad_left);
      const size_t end = window_end(j, s->stride_w, s->pad_left, s->kernel_w, s->width);
      for (size_t c = 0; c < s->channels; ++c) {
        int32_t sum = 0;
        float mean;
        for (size_t row = row_begin; row < row_end; ++row) {
          for (size_t column = begin; column < end; ++column) {
            sum += x[(row * s->width + column) * s->channels + c] - zero;
          }
        }
        mean = (float)sum / (float)((row_end - row_begin) * (end - begin));
        *y++ = int8_rounded(mean * multiplier, to);
      }
    }
  }
}
)";

const std::string_view kInt8Add = R"(/* Both operands brought to the grid of the sum, then added; y may be neither. */
static void int8_add(size_t count, const int8_t *a, int32_t zero_a, float multiplier_a, const int8_t *b,
                     int32_t zero_b, float multiplier_b, const int8_target *to, int8_t *y) {
  for (size_t i = 0; i < count; ++i) {
    const float left = (float)(a[i] - zero_a) * multiplier_a;
    const float right = (float)(b[i] - zero_b) * multiplier_b;
    y[i] = int8_rounded(left + right, to);
  }
}
)";

const std::string_view kInt8Clamp =
    R"(static void int8_clamp(size_t count, const int8_target *to, const int8_t *x, int8_t *y) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = x[i];
    if (y[i] < to->low) y[i] = (int8_t)to->low;
    if (y[i] > to->high) y[i] = (int8_t)to->high;
  }
}
)";

}  // namespace coterie::micro_text
