#include "tools/micro/pass_text.h"

namespace coterie::micro_text {

const std::string_view kPass =
    R"(/* A pass goes over a layer's products once, in one order, and adds each to `sums`: the output, or the gradient
   of the weights, or that of the input. It reads the other two: x is the input, w the weights, y the output's
   gradient. */
enum { TO_OUTPUT, TO_WEIGHTS, TO_INPUT };
typedef void layer_pass(const void *shape, int to, const float *x, const float *w, const float *y, float *sums);
)";

// Within a pixel each element of y has its products in the order of c, each of x in the order of o, and each of w one.
// So the loop over o may be the inner one, where values lie side by side.
const std::string_view kProducts =
    R"(/* The products of one pixel, c by c, and o by o: y[o] += x[c] w[c][o], or w[c][o] += x[c] y[o], or
   x[c] += y[o] w[c][o]. A row w[c] is `filters` floats long. */
static void products(size_t depth, size_t block, size_t filters, int to, const float *x, const float *w,
                     const float *y, float *sums) {
  for (size_t c = 0; c < depth; ++c) {
    const float *from = to == TO_WEIGHTS ? y : w;
    const float *end = from + block; /* of one at least */
    if (to == TO_INPUT) {
      const float *other = y;
      float sum = sums[c];
      do sum += *other++ * *from++;
      while (from != end);
      sums[c] = sum;
    } else {
      const float factor = x[c];
      float *sum = sums;
      do *sum++ += factor * *from++;
      while (from != end);
      if (to == TO_WEIGHTS) sums += filters;
    }
    w += filters;
  }
}
)";

const std::string_view kDensePass =
    R"(static void dense_pass(const void *shape, int to, const float *x, const float *w, const float *y, float *sums) {
  const dense_shape *s = shape;
  products(s->in, s->out, s->out, to, x, w, y, sums);
}
)";

const std::string_view kWindowShape = R"(typedef struct {
  size_t height, width, channels;       /* of the input */
  size_t windows, out_w, filters;       /* of the output: a window for each pixel and group; pixels of a row */
  size_t taps, kernel_w;                /* of a window: pixels, and those of a row */
  size_t stride_h, stride_w;
  size_t pad_top, pad_left;
  size_t groups, dilation_h, dilation_w; /* of a pool each channel is a group */
} window_shape;

#define PADDING ((size_t)-1)

/* Which pixel of the input is under this tap of the window of this pixel of the output, counted row by row. Above and
   to the left of the image `row` and `column` wrap around, and are too large as well. */
static size_t pixel_under(const window_shape *s, size_t out, size_t tap) {
  const size_t row = out / s->out_w * s->stride_h + tap / s->kernel_w * s->dilation_h - s->pad_top;
  const size_t column = out % s->out_w * s->stride_w + tap % s->kernel_w * s->dilation_w - s->pad_left;
  return row < s->height && column < s->width ? row * s->width + column : PADDING;
}
)";

// Taps are inside of groups, and groups inside of the pixels of y. Each element of y has its products tap by tap, c by
// c. Each of w has one a pixel. Each of x has them pixel of y by pixel, and within one those of its own group alone.
const std::string_view kWindowPass =
    R"(/* Convolution, and without weights the largest of each window, whose gradient goes to the first of the largest.
   Window by window, row by row; padding adds nothing. */
static void window_pass(const void *shape, int to, const float *x, const float *w, const float *y, float *sums) {
  const window_shape *s = shape;
  const size_t depth = s->channels / s->groups;
  const size_t block = s->filters / s->groups;
  for (size_t n = 0; n < s->windows; ++n) {
    const size_t group = n % s->groups;
    size_t best = PADDING;
    for (size_t tap = 0; tap < s->taps; ++tap) {
      const size_t pixel = pixel_under(s, n / s->groups, tap);
      const size_t of_x = pixel * s->channels + group * depth;
      const size_t of_w = tap * depth * s->filters + group * block;
      if (pixel == PADDING) continue;
      if (w == NULL) {
        if (best == PADDING || x[of_x] > x[best]) best = of_x;
      } else {
        products(depth, block, s->filters, to, x + of_x, w + of_w, y + n * block,
                 sums + (to == TO_OUTPUT ? n * block : to == TO_WEIGHTS ? of_w : of_x));
      }
    }
    if (w == NULL) {
      if (to == TO_OUTPUT) sums[n] = x[best];
      else sums[best] += y[n];
    }
  }
}
)";

const std::string_view kAveragePass =
    R"(/* The mean of the real pixels of each window, added row by row; its gradient is shared by them. */
static void average_pass(const void *shape, int to, const float *x, const float *w, const float *y, float *sums) {
  const window_shape *s = shape;
  (void)w;
  for (size_t n = 0; n < s->windows; ++n) {
    size_t pixels = 0;
    float value = 0.0f;
    for (size_t tap = 0; tap < s->taps; ++tap) pixels += pixel_under(s, n / s->groups, tap) != PADDING;
    if (to != TO_OUTPUT) value = y[n] / (float)pixels;
    for (size_t tap = 0; tap < s->taps; ++tap) {
      const size_t pixel = pixel_under(s, n / s->groups, tap);
      const size_t at = pixel * s->channels + n % s->groups;
      if (pixel == PADDING) continue;
      if (to == TO_OUTPUT) value += x[at];
      else sums[at] += value;
    }
    if (to == TO_OUTPUT) sums[n] = value / (float)pixels;
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
