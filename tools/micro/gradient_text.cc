// The C of the backward pass. Contract: kernel_text.h.
#include "tools/micro/kernel_text.h"

namespace coterie::micro_text {

const std::string_view kDenseGradients = R"(/* Adds x[i] dy[o] to dw[i][o] and dy[o] to dbias[o]; NULL: not wanted. */
static void dense_gradients(const dense_shape *s, const float *x, const float *dy, float *dw, float *dbias) {
  for (size_t i = 0; dw != NULL && i < s->in; ++i) {
    for (size_t o = 0; o < s->out; ++o) *dw++ += x[i] * dy[o];
  }
  for (size_t o = 0; dbias != NULL && o < s->out; ++o) dbias[o] += dy[o];
}
)";

const std::string_view kDenseInput = R"(/* dx[i] = 0 + dy[0] w[i][0] + dy[1] w[i][1] + ... */
static void dense_input(const dense_shape *s, const float *dy, const float *w, float *dx) {
  for (size_t i = 0; i < s->in; ++i) {
    float sum = 0.0f;
    for (size_t o = 0; o < s->out; ++o) sum += dy[o] * *w++;
    dx[i] = sum;
  }
}
)";

// Each element of dw gets one product a pixel, each element of dx its products pixel by pixel, filters innermost: so
// the loops inside of a pixel may stand in the order that is fast.
const std::string_view kConv2dGradients =
    R"(/* Adds to dw and dbias, pixel of dy by pixel, row by row; NULL: not wanted. */
static void conv2d_gradients(const conv2d_shape *s, const float *x, const float *dy, float *dw, float *dbias) {
  const size_t depth = s->channels / s->groups;
  const size_t block = s->filters / s->groups;
  for (size_t i = 0; i < s->out_h; ++i) {
    for (size_t j = 0; j < s->out_w; ++j, dy += s->filters) {
      for (size_t o = 0; dbias != NULL && o < s->filters; ++o) dbias[o] += dy[o];
      for (size_t kh = 0; dw != NULL && kh < s->kernel_h; ++kh) {
        const size_t row = i * s->stride_h + kh * s->dilation_h; /* of the padded image */
        if (row < s->pad_top || row >= s->pad_top + s->height) continue;
        for (size_t kw = 0; kw < s->kernel_w; ++kw) {
          const size_t column = j * s->stride_w + kw * s->dilation_w;
          if (column < s->pad_left || column >= s->pad_left + s->width) continue;
          const size_t pixel = (row - s->pad_top) * s->width + (column - s->pad_left);
          float *taps = dw + (kh * s->kernel_w + kw) * depth * s->filters;
          for (size_t c = 0; c < depth; ++c) {
            for (size_t o = 0; o < s->filters; ++o) {
              *taps++ += dy[o] * x[pixel * s->channels + o / block * depth + c];
            }
          }
        }
      }
    }
  }
}
)";

const std::string_view kConv2dInput = R"(/* dx from zeros, pixel of dy by pixel, row by row, filters innermost. */
static void conv2d_input(const conv2d_shape *s, const float *dy, const float *w, float *dx) {
  const size_t depth = s->channels / s->groups;
  const size_t block = s->filters / s->groups;
  for (size_t i = 0; i < s->height * s->width * s->channels; ++i) dx[i] = 0.0f;
  for (size_t i = 0; i < s->out_h; ++i) {
    for (size_t j = 0; j < s->out_w; ++j, dy += s->filters) {
      for (size_t kh = 0; kh < s->kernel_h; ++kh) {
        const size_t row = i * s->stride_h + kh * s->dilation_h; /* of the padded image */
        if (row < s->pad_top || row >= s->pad_top + s->height) continue;
        for (size_t kw = 0; kw < s->kernel_w; ++kw) {
          const size_t column = j * s->stride_w + kw * s->dilation_w;
          if (column < s->pad_left || column >= s->pad_left + s->width) continue;
          const size_t pixel = (row - s->pad_top) * s->width + (column - s->pad_left);
          const float *taps = w + (kh * s->kernel_w + kw) * depth * s->filters;
          for (size_t c = 0; c < depth; ++c) {
            for (size_t o = 0; o < s->filters; ++o) {
              dx[pixel * s->channels + o / block * depth + c] += dy[o] * *taps++;
            }
          }
        }
      }
    }
  }
}
)";

const std::string_view kMaxPool2dInput = R"(/* dx from zeros: each dy goes to the first of the largest of its window. */
static void max_pool2d_input(const pool2d_shape *s, const float *x, const float *dy, float *dx) {
  for (size_t i = 0; i < s->height * s->width * s->channels; ++i) dx[i] = 0.0f;
  for (size_t i = 0; i < s->out_h; ++i) {
    const size_t row_begin = window_begin(i, s->stride_h, s->pad_top);
    const size_t row_end = window_end(i, s->stride_h, s->pad_top, s->kernel_h, s->height);
    for (size_t j = 0; j < s->out_w; ++j) {
      const size_t begin = window_begin(j, s->stride_w, s->pad_left);
      const size_t end = window_end(j, s->stride_w, s->pad_left, s->kernel_w, s->width);
      for (size_t c = 0; c < s->channels; ++c) {
        size_t best = (row_begin * s->width + begin) * s->channels + c;
        for (size_t row = row_begin; row < row_end; ++row) {
          for (size_t column = begin; column < end; ++column) {
            const size_t at = (row * s->width + column) * s->channels + c;
            if (x[at] > x[best]) best = at;
          }
        }
        dx[best] += *dy++;
      }
    }
  }
}
)";

const std::string_view kAveragePool2dInput = R"(/* dx from zeros: each dy is shared by the real pixels of its window. */
static void average_pool2d_input(const pool2d_shape *s, const float *dy, float *dx) {
  for (size_t i = 0; i < s->height * s->width * s->channels; ++i) dx[i] = 0.0f;
  for (size_t i = 0; i < s->out_h; ++i) {
    const size_t row_begin = window_begin(i, s->stride_h, s->pad_top);
    const size_t row_end = window_end(i, s->stride_h, s->pad_top, s->kernel_h, s->height);
    for (size_t j = 0; j < s->out_w; ++j) {
      const size_t begin = window_begin(j, s->stride_w, s->pad_left);
      const size_t end = window_end(j, s->stride_w, s->pad_left, s->kernel_w, s->width);
      for (size_t c = 0; c < s->channels; ++c) {
        const float share = *dy++ / (float)((row_end - row_begin) * (end - begin));
        for (size_t row = row_begin; row < row_end; ++row) {
          for (size_t column = begin; column < end; ++column) {
            dx[(row * s->width + column) * s->channels + c] += share;
          }
        }
      }
    }
  }
}
)";

const std::string_view kReluInput = R"(/* dx = dy where y > 0, else 0; in place. */
static void relu_input(size_t count, const float *y, float *dy) {
  for (size_t i = 0; i < count; ++i) {
    if (!(y[i] > 0.0f)) dy[i] = 0.0f;
  }
}
)";

const std::string_view kCrossEntropy =
    R"(/* The loss log(sum of e^z) - z[label], and its gradient softmax(z) - (1 at the label). */
static float cross_entropy(size_t classes, const float *z, size_t label, float *dz) {
  float top = z[0];
  float sum = 0.0f;
  for (size_t i = 1; i < classes; ++i) {
    if (z[i] > top) top = z[i];
  }
  for (size_t i = 0; i < classes; ++i) {
    dz[i] = exp_of(z[i] - top);
    sum += dz[i];
  }
  for (size_t i = 0; i < classes; ++i) dz[i] = dz[i] / sum - (i == label ? 1.0f : 0.0f);
  return log_of(sum) + top - z[label];
}
)";

}  // namespace coterie::micro_text
