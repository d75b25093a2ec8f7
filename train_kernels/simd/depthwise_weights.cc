// Depthwise convolution, dW: a row of outputs at a time, up to kTapsAtOnce accumulators run along some columns, then
// are added to dw.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/depthwise_weights.cc"
#include "hwy/foreach_target.h"

#include <algorithm>
#include <cstring>

#include "train_kernels/simd/depthwise_inl.h"
#include "train_kernels/simd/gemm_inl.h"
#include "train_kernels/simd/map_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

constexpr size_t kTapsAtOnce = 9;
// All channels of so many columns before the next, so that memory is read in its order.
constexpr size_t kColumnsAtOnce = 16;

// Some outputs of a row: `offsets` say where each tap's input lies from the first output's, dw where its
// gradient does.
struct RowPiece {
  const float* x;
  size_t x_step;
  const float* dy;
  size_t channels, columns;
  size_t x_row, dy_row, new_rows;  // of x, for the next row of dy
  const float* ahead;
  ptrdiff_t offsets[kTapsAtOnce];
  float* dw[kTapsAtOnce];
};

// One vector of channels. kAhead: what the next row of dy needs is fetched meanwhile.
template <size_t kTaps, bool kAhead, class Access>
HWY_INLINE void add_gradient(const Access& access, const RowPiece& piece, size_t c) {
  Vector sums[kTaps];
  const float* inputs[kTaps];
  COT_UNROLL for (size_t t = 0; t < kTaps; ++t) {
    sums[t] = hn::Zero(Tag());
    inputs[t] = piece.x + piece.offsets[t] + c;
  }
  const float* gradient = piece.dy + c;
  size_t at = 0;
  for (size_t j = 0; j < piece.columns; ++j, at += piece.x_step, gradient += piece.channels) {
    const Vector g = access.load(gradient);
    COT_UNROLL for (size_t t = 0; t < kTaps; ++t) sums[t] = hn::MulAdd(g, access.load(inputs[t] + at), sums[t]);
    if constexpr (kAhead) {
      __builtin_prefetch(gradient + piece.dy_row);
      for (size_t r = 0; r < piece.new_rows; ++r) {
        const float* row = piece.ahead + r * piece.x_row + at + c;
        for (size_t i = 0; i < piece.x_step; i += piece.channels) __builtin_prefetch(row + i);
      }
    }
  }
  COT_UNROLL for (size_t t = 0; t < kTaps; ++t) {
    access.store(hn::Add(access.load(piece.dw[t] + c), sums[t]), piece.dw[t] + c);
  }
}

template <size_t kTaps, bool kAhead = false>
void add_gradients(const RowPiece& piece) {
  size_t c = 0;
  for (; c + kLanes <= piece.channels; c += kLanes) add_gradient<kTaps, kAhead>(Whole(), piece, c);
  if (c < piece.channels) add_gradient<kTaps, kAhead>(Part(piece.channels - c), piece, c);
}

using AddGradients = void (*)(const RowPiece&);
#if defined(__OPTIMIZE_SIZE__)  // a third of the code: a kernel's rows, and what is left of one
constexpr size_t at_once(size_t taps) { return taps >= 9 ? 9 : taps >= 3 ? 3 : 1; }
constexpr AddGradients kAddGradients[kTapsAtOnce] = {
    add_gradients<1>, nullptr, add_gradients<3>, nullptr, nullptr, nullptr, nullptr, nullptr, add_gradients<9>};
#else
constexpr size_t at_once(size_t taps) { return HWY_MIN(taps, kTapsAtOnce); }
constexpr AddGradients kAddGradients[kTapsAtOnce] = {add_gradients<1>, add_gradients<2>, add_gradients<3>,
                                                     add_gradients<4>, add_gradients<5>, add_gradients<6>,
                                                     add_gradients<7>, add_gradients<8>, add_gradients<9>};
#endif

// The first `taps` of the piece, which it then has no more.
void add_gradients_of(size_t taps, bool from_memory, RowPiece& piece) {
  if (from_memory && taps == kTapsAtOnce) return add_gradients<kTapsAtOnce, true>(piece);
  while (taps > 0) {
    const size_t some = at_once(taps);
    kAddGradients[some - 1](piece);
    taps -= some;
    std::copy_n(piece.offsets + some, taps, piece.offsets);
    std::copy_n(piece.dw + some, taps, piece.dw);
  }
}

}  // namespace

// x: [batch, height, width, channels]; dy: [batch, out_h, out_w, channels]; dw: [kernel_h * kernel_w, channels], the
// wanted rows of it.
void depthwise_backward_weights(const Conv2dShape& s, Range wanted, const float* x, const float* dy, float* dw,
                                void* workspace) {
  const DepthwiseAxis rows = depthwise_rows(s), columns = depthwise_columns(s);
  ColumnTaps* taps = Scratch(workspace).take<ColumnTaps>(columns.out);
  for (size_t j = 0; j < columns.out; ++j) taps[j] = forward_taps(columns, j);
  // Every row of outputs adds to dw; at the borders some taps have no input, and add nothing.
  std::memset(dw + wanted.begin * s.channels, 0, wanted.size() * s.channels * sizeof(float));
  const size_t x_row = s.width * s.channels;
  const bool from_memory = s.batch * s.height * x_row >= kFloatsFromMemory;
  for (size_t n = 0; n < s.batch; ++n, x += s.height * x_row) {
    for (size_t i = 0; i < rows.out; ++i, dy += columns.out * s.channels) {
      const ColumnTaps down = forward_taps(rows, i);
      for (size_t j = 0; j < columns.out;) {
        // Neighbouring columns that meet the same taps.
        const ColumnTaps along = taps[j];
        size_t end = j + 1;
        while (end < columns.out && end < j + kColumnsAtOnce && taps[end].meets_as(along)) ++end;
        const size_t count = static_cast<size_t>(down.count * along.count);
        RowPiece piece{
            .x = x + static_cast<size_t>(down.x) * x_row + static_cast<size_t>(along.x) * s.channels,
            .x_step = s.stride_w * s.channels,
            .dy = dy + j * s.channels,
            .channels = s.channels,
            .columns = end - j,
            .x_row = x_row,
            .dy_row = columns.out * s.channels,
            .new_rows = s.stride_h,
            .ahead = x + static_cast<size_t>(down.x + down.count) * x_row + static_cast<size_t>(along.x) * s.channels,
            .offsets = {},
            .dw = {}};
        size_t some = 0;
        for (size_t t = 0; t < count; ++t) {
          const size_t r = t / static_cast<size_t>(along.count), k = t % static_cast<size_t>(along.count);
          const size_t tap = (static_cast<size_t>(down.w) + r) * s.kernel_w + static_cast<size_t>(along.w) + k;
          if (tap >= wanted.begin && tap < wanted.end) {
            piece.offsets[some] = static_cast<ptrdiff_t>(r * s.dilation_h * x_row + k * s.dilation_w * s.channels);
            piece.dw[some++] = dw + tap * s.channels;
          }
          if (some == kTapsAtOnce || (some > 0 && t + 1 == count)) {
            add_gradients_of(some, from_memory, piece);
            some = 0;
          }
        }
        j = end;
      }
    }
  }
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
