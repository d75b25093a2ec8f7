// Pooling, a vector of channels at a time and without a branch on data: a max-pool that branches looks fast on a batch
// the branch predictor has learnt and is 1.7 times slower on fresh ones. Contracts: kernel_table.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/pool.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/kernel_table.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/simd/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// The real pixels of one window: `rows` x `columns` of them from x[origin].
struct Window {
  size_t origin, rows, columns;
};

// The part [first, first + count) of a window of `kernel` positions at `position` in a padded axis.
struct Span {
  size_t first, count;
};
HWY_INLINE Span clip(size_t position, size_t kernel, size_t pad, size_t size) {
  const size_t from = position < pad ? pad : position;
  const size_t to = HWY_MIN(position + kernel, pad + size);
  return {from - pad, to - from};
}

// Calls visit(window, y offset of its first channel) for every window, in y's order.
template <class Visit>
HWY_INLINE void for_each_window(const Pool2dShape& s, const Visit& visit) {
  const size_t out_h = s.out_h(), out_w = s.out_w(), channels = s.channels;
  size_t y = 0;
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t i = 0; i < out_h; ++i) {
      const Span rows = clip(i * s.stride_h, s.kernel_h, s.pad_top, s.height);
      const size_t line = (n * s.height + rows.first) * s.width;
      for (size_t j = 0; j < out_w; ++j, y += channels) {
        const Span columns = clip(j * s.stride_w, s.kernel_w, s.pad_left, s.width);
        visit(Window{(line + columns.first) * channels, rows.count, columns.count}, y);
      }
    }
  }
}

HWY_INLINE Vector load_part(const float* p, size_t lanes) {
  return lanes == kLanes ? hn::LoadU(Tag(), p) : load_n(p, lanes);
}
HWY_INLINE void store_part(Vector v, float* p, size_t lanes) {
  if (lanes == kLanes) hn::StoreU(v, Tag(), p);
  else store_n(v, p, lanes);
}

struct Strides {
  explicit Strides(const Pool2dShape& s) : pixel(s.channels), row(s.width * s.channels) {}
  size_t pixel, row;
};

// The windows neither overlap nor leave a pixel out: then every dx is written exactly once.
bool windows_tile_the_image(const Pool2dShape& s) {
  return s.stride_h == s.kernel_h && s.stride_w == s.kernel_w && s.out_h() * s.stride_h == s.height &&
         s.out_w() * s.stride_w == s.width;
}
bool windows_overlap(const Pool2dShape& s) { return s.stride_h < s.kernel_h || s.stride_w < s.kernel_w; }

void clear_unless_tiled(const Pool2dShape& s, float* dx) {
  if (!windows_tile_the_image(s)) std::memset(dx, 0, s.batch * s.height * s.width * s.channels * sizeof(float));
}

template <class Combine>
HWY_INLINE Vector fold(const float* x, const Window& window, const Strides& stride, size_t lanes,
                       const Combine& combine) {
  Vector result = load_part(x, lanes);
  for (size_t r = 0; r < window.rows; ++r) {
    const float* row = x + r * stride.row;
    for (size_t c = r == 0 ? 1 : 0; c < window.columns; ++c) {
      result = combine(result, load_part(row + c * stride.pixel, lanes));
    }
  }
  return result;
}

struct TakeMax {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Max(a, b); }
};
struct TakeSum {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Add(a, b); }
};

struct MaxForward {
  const float* x;
  float* y;
  Strides stride;
  size_t channels;

  HWY_INLINE void operator()(const Window& window, size_t at) const {
    for (size_t c = 0; c < channels; c += kLanes) {
      const size_t lanes = HWY_MIN(kLanes, channels - c);
      store_part(fold(x + window.origin + c, window, stride, lanes, TakeMax()), y + at + c, lanes);
    }
  }
};

struct AverageForward {
  const float* x;
  float* y;
  Strides stride;
  size_t channels;

  HWY_INLINE void operator()(const Window& window, size_t at) const {
    const Vector count = hn::Set(Tag(), static_cast<float>(window.rows * window.columns));
    for (size_t c = 0; c < channels; c += kLanes) {
      const size_t lanes = HWY_MIN(kLanes, channels - c);
      const Vector sum = fold(x + window.origin + c, window, stride, lanes, TakeSum());
      store_part(hn::Div(sum, count), y + at + c, lanes);
    }
  }
};

// Finds the maximum again by comparing with y, which costs less than an index array would: in window order, the first
// equal value takes the gradient and closes the window.
template <bool kOverlap>
struct MaxBackward {
  const float *x, *y, *dy;
  float* dx;
  Strides stride;
  size_t channels;
  bool through_relu;

  HWY_INLINE void operator()(const Window& window, size_t at) const {
    const Tag d;
    for (size_t c = 0; c < channels; c += kLanes) {
      const size_t lanes = HWY_MIN(kLanes, channels - c);
      const Vector top = load_part(y + at + c, lanes);
      Vector gradient = load_part(dy + at + c, lanes);
      if (through_relu) gradient = hn::IfThenElseZero(hn::Gt(top, hn::Zero(d)), gradient);
      for (size_t r = 0; r < window.rows; ++r) {
        for (size_t k = 0; k < window.columns; ++k) {
          const size_t i = window.origin + c + r * stride.row + k * stride.pixel;
          const auto here = hn::Eq(load_part(x + i, lanes), top);
          Vector share = hn::IfThenElseZero(here, gradient);
          gradient = hn::IfThenZeroElse(here, gradient);
          if (kOverlap) share = hn::Add(share, load_part(dx + i, lanes));
          store_part(share, dx + i, lanes);
        }
      }
    }
  }
};

template <bool kOverlap>
struct AverageBackward {
  const float* dy;
  float* dx;
  Strides stride;
  size_t channels;

  HWY_INLINE void operator()(const Window& window, size_t at) const {
    const Vector count = hn::Set(Tag(), static_cast<float>(window.rows * window.columns));
    for (size_t c = 0; c < channels; c += kLanes) {
      const size_t lanes = HWY_MIN(kLanes, channels - c);
      const Vector share = hn::Div(load_part(dy + at + c, lanes), count);
      for (size_t r = 0; r < window.rows; ++r) {
        for (size_t k = 0; k < window.columns; ++k) {
          float* to = dx + window.origin + c + r * stride.row + k * stride.pixel;
          store_part(kOverlap ? hn::Add(share, load_part(to, lanes)) : share, to, lanes);
        }
      }
    }
  }
};

void max_pool2d_forward(const Pool2dShape& s, const float* x, float* y) {
  for_each_window(s, MaxForward{x, y, Strides(s), s.channels});
}

void max_pool2d_backward(const Pool2dShape& s, const float* x, const float* y, const float* dy, bool through_relu,
                         float* dx) {
  clear_unless_tiled(s, dx);
  if (windows_overlap(s)) {
    for_each_window(s, MaxBackward<true>{x, y, dy, dx, Strides(s), s.channels, through_relu});
  } else {
    for_each_window(s, MaxBackward<false>{x, y, dy, dx, Strides(s), s.channels, through_relu});
  }
}

void average_pool2d_forward(const Pool2dShape& s, const float* x, float* y) {
  for_each_window(s, AverageForward{x, y, Strides(s), s.channels});
}

void average_pool2d_backward(const Pool2dShape& s, const float* dy, float* dx) {
  clear_unless_tiled(s, dx);
  if (windows_overlap(s)) {
    for_each_window(s, AverageBackward<true>{dy, dx, Strides(s), s.channels});
  } else {
    for_each_window(s, AverageBackward<false>{dy, dx, Strides(s), s.channels});
  }
}

}  // namespace

void fill_pool_target(KernelTable& table) {
  table.max_pool2d_forward = max_pool2d_forward;
  table.max_pool2d_backward = max_pool2d_backward;
  table.average_pool2d_forward = average_pool2d_forward;
  table.average_pool2d_backward = average_pool2d_backward;
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(pool)
}  // namespace coterie::kernels::simd
#endif
