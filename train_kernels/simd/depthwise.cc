// Depthwise convolution, direct, forward and dX: nine multiplies an element do not pay for a copy, so the border is
// clipped, not copied. Several neighbouring outputs of a row share each weight vector, one accumulator each. dX is the
// same sum the other way round; with a stride, outputs a stride apart meet the same taps.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/depthwise.cc"
#include "hwy/foreach_target.h"

#include <utility>

#include "train_kernels/simd/bounds_inl.h"
#include "train_kernels/simd/depthwise_inl.h"
#include "train_kernels/simd/gemm_inl.h"
#include "train_kernels/simd/map_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

constexpr size_t kOutputsAtOnce = 8;  // accumulators; each multiply reads its input from memory

// Input `at` was read by the outputs (at + pad - k * dilation) / stride, where that is whole and one of them.
ColumnTaps backward_taps(const DepthwiseAxis& a, size_t at) {
  ColumnTaps taps{0, 1, 0, 0, 0};
  for (size_t k = 0; k < a.kernel; ++k) {
    if (k * a.dilation > at + a.pad) break;
    const size_t behind = at + a.pad - k * a.dilation;
    if (behind % a.stride != 0 || behind / a.stride >= a.out) continue;
    const auto position = static_cast<int32_t>(k), output = static_cast<int32_t>(behind / a.stride);
    if (taps.count == 0) {
      taps.w = position;
      taps.x = output;
    } else if (taps.count == 1) {
      taps.w_step = position - taps.w;
      taps.x_step = output - taps.x;
    }
    ++taps.count;
  }
  return taps;
}

// A row of results: to[at] = the sum of from[...] w[...] over the taps of `at`. Strides in floats.
struct Line {
  const float *from, *w, *bias;
  float* to;
  ColumnTaps rows;
  size_t channels, from_row, w_row, to_row;
  size_t new_rows, new_columns;  // of `from`, for each of the next row of results; 0: not fetched ahead
  Activation activation;
};

// kCount results: `step` apart in to, `from_step` in from, with the same taps.
template <size_t kCount, class Access>
HWY_INLINE void sums_of(const Access& access, const Line& line, const ColumnTaps& taps, size_t from_step, size_t step,
                        size_t c, float* to) {
  const Vector start = line.bias == nullptr ? hn::Zero(Tag()) : access.load(line.bias + c);
  Vector sums[kCount];
  COT_UNROLL for (size_t t = 0; t < kCount; ++t) sums[t] = start;
  // The results of the next call: dX with a stride computes little for what it writes.
  if (kCount == kOutputsAtOnce && step != line.channels) {
    COT_UNROLL for (size_t t = 0; t < kCount; ++t) __builtin_prefetch(to + (t + kOutputsAtOnce) * step + c, 1);
  }
  const auto channels = static_cast<ptrdiff_t>(line.channels);
  const float* from_row = line.from + taps.x * channels + c;
  const float* w_row = line.w + taps.w * channels + c;
  const float* ahead = from_row + line.from_row;  // where rows ascend: below the last
  for (int32_t r = 0; r < line.rows.count; ++r) {
    const float *from = from_row, *w = w_row;
    for (int32_t k = 0; k < taps.count; ++k) {
      const Vector weight = access.load(w);
      COT_UNROLL for (size_t t = 0; t < kCount; ++t) {
        sums[t] = hn::MulAdd(weight, access.load(from + t * from_step), sums[t]);
      }
      from += taps.x_step * channels;
      w += taps.w_step * channels;
    }
    from_row += line.rows.x_step * static_cast<ptrdiff_t>(line.from_row);
    w_row += line.rows.w_step * static_cast<ptrdiff_t>(line.w_row);
  }
  if (line.new_rows != 0) {
    if (line.rows.x_step > 0) ahead = from_row;
    for (size_t r = 0; r < line.new_rows; ++r, ahead += line.from_row) {
      COT_UNROLL for (size_t t = 0; t < kCount; ++t) {
        for (size_t j = 0; j < line.new_columns; ++j) __builtin_prefetch(ahead + t * from_step + j * line.channels);
      }
    }
    if (line.new_rows * line.new_columns == 1) {
      COT_UNROLL for (size_t t = 0; t < kCount; ++t) __builtin_prefetch(to + line.to_row + t * step + c, 1);
    }
  }
  const Bounds bounds(line.activation);
  COT_UNROLL for (size_t t = 0; t < kCount; ++t) access.store(bounds(sums[t]), to + t * step + c);
}

template <size_t kCount>
void results(const Line& line, const ColumnTaps& taps, size_t from_step, size_t step, float* to) {
  size_t c = 0;
  for (; c + kLanes <= line.channels; c += kLanes) sums_of<kCount>(Whole(), line, taps, from_step, step, c, to);
  if (c < line.channels) sums_of<kCount>(Part(line.channels - c), line, taps, from_step, step, c, to);
}

using Results = void (*)(const Line&, const ColumnTaps&, size_t, size_t, float*);
#if defined(__OPTIMIZE_SIZE__)  // half the code: five are four and one
constexpr size_t at_once(size_t results) { return results >= 8 ? 8 : results >= 4 ? 4 : results >= 2 ? 2 : 1; }
constexpr Results kResults[kOutputsAtOnce] = {results<1>, results<2>, nullptr, results<4>,
                                              nullptr,    nullptr,    nullptr, results<8>};
#else
constexpr size_t at_once(size_t results) { return HWY_MIN(results, kOutputsAtOnce); }
constexpr Results kResults[kOutputsAtOnce] = {results<1>, results<2>, results<3>, results<4>,
                                              results<5>, results<6>, results<7>, results<8>};
#endif

// The whole row: results [0, count), those `period` apart share their taps but at the border. Some pages of
// results are finished before the next are begun: memory is written in its order.
void run_line(const Line& line, const ColumnTaps* taps, size_t count, size_t period) {
  for (size_t begin = 0; begin < count; begin += period * kOutputsAtOnce) {
    const size_t end = HWY_MIN(count, begin + period * kOutputsAtOnce);
    for (size_t phase = begin; phase < HWY_MIN(begin + period, end); ++phase) {
      for (size_t at = phase; at < end;) {
        size_t alike = 1;
        while (at + alike * period < end && taps[at + alike * period].meets_as(taps[at])) ++alike;
        const size_t together = at_once(alike);
        const size_t moved = together > 1 ? static_cast<size_t>(taps[at + period].x - taps[at].x) * line.channels : 0;
        kResults[together - 1](line, taps[at], moved, period * line.channels, line.to + at * line.channels);
        at += together * period;
      }
    }
  }
}

}  // namespace

// x: [batch, height, width, channels]; w: [kernel_h, kernel_w, channels]; bias: [channels] or null; y: [batch, out_h,
// out_w, channels], the wanted rows of it.
void depthwise_forward(const Conv2dShape& s, Range wanted, const float* x, const float* w, const float* bias,
                       Activation activation, float* y, void* workspace) {
  const DepthwiseAxis rows = depthwise_rows(s), columns = depthwise_columns(s);
  ColumnTaps* taps = Scratch(workspace).take<ColumnTaps>(columns.out);
  for (size_t j = 0; j < columns.out; ++j) taps[j] = forward_taps(columns, j);
  const size_t x_row = s.width * s.channels, w_row = s.kernel_w * s.channels, y_row = columns.out * s.channels;
  // What fits the caches is there already: fetching it ahead would only cost instructions.
  const bool from_memory = s.batch * s.height * x_row >= kFloatsFromMemory;
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t i = wanted.begin; i < wanted.end; ++i) {
      const ColumnTaps at = forward_taps(rows, i);
      const Line line{x + static_cast<size_t>(at.x) * x_row,
                      w + static_cast<size_t>(at.w) * w_row,
                      bias,
                      y + (n * rows.out + i) * y_row,
                      at,
                      s.channels,
                      x_row,
                      w_row,
                      y_row,
                      from_memory ? s.stride_h : 0,
                      s.stride_w,
                      activation};
      run_line(line, taps, columns.out, 1);
    }
    x += s.height * x_row;
  }
}

// dy: [batch, out_h, out_w, channels]; w: [kernel_h, kernel_w, channels]; dx: [batch, height, width, channels], the
// wanted rows of it.
void depthwise_backward_input(const Conv2dShape& s, Range wanted, const float* dy, const float* w, float* dx,
                              void* workspace) {
  const DepthwiseAxis rows = depthwise_rows(s), columns = depthwise_columns(s);
  ColumnTaps* taps = Scratch(workspace).take<ColumnTaps>(columns.in);
  for (size_t j = 0; j < columns.in; ++j) taps[j] = backward_taps(columns, j);
  const size_t dy_row = columns.out * s.channels, w_row = s.kernel_w * s.channels, dx_row = s.width * s.channels;
  const bool from_memory = s.batch * s.height * dx_row >= kFloatsFromMemory;
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t i = wanted.begin; i < wanted.end; ++i) {
      const ColumnTaps at = backward_taps(rows, i);
      const Line line{dy + static_cast<size_t>(at.x) * dy_row,
                      w + static_cast<size_t>(at.w) * w_row,
                      nullptr,
                      dx + (n * rows.in + i) * dx_row,
                      at,
                      s.channels,
                      dy_row,
                      w_row,
                      dx_row,
                      from_memory ? size_t{1} : 0,
                      1,
                      Activation::none};
      run_line(line, taps, columns.in, columns.stride);
    }
    dy += rows.out * dy_row;
  }
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
