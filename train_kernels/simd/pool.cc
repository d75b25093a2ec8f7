// Pooling, a vector of channels at a time and without a branch on data: a max-pool that branches looks fast on a batch
// the branch predictor has learnt and is 1.7 times slower on fresh ones. Contracts: kernel_table.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/pool.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/map_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/pool.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// The real pixels of one window: `rows` x `columns` of them from x[origin]; `counted` positions share a mean.
struct Window {
  size_t origin, rows, columns, counted;
};

// The real pixels [first, first + count) of a window along one axis, and how many positions count in a mean.
struct Span {
  size_t first, count, counted;
};
HWY_INLINE Span clip(size_t position, size_t kernel, size_t pad_before, size_t size, size_t pad_after,
                     bool count_padding) {
  const size_t from = position < pad_before ? pad_before : position;
  const size_t count = HWY_MIN(position + kernel, pad_before + size) - from;
  const size_t padded = HWY_MIN(position + kernel, pad_before + size + pad_after) - position;
  return {from - pad_before, count, count_padding ? padded : count};
}
HWY_INLINE Span row_span(const Pool2dShape& s, size_t i) {
  return clip(i * s.stride_h, s.kernel_h, s.pad_top, s.height, s.pad_bottom, s.count_padding);
}
HWY_INLINE Span column_span(const Pool2dShape& s, size_t j) {
  return clip(j * s.stride_w, s.kernel_w, s.pad_left, s.width, s.pad_right, s.count_padding);
}

HWY_INLINE Span adaptive_span(size_t i, size_t in, size_t out) {
  // Output i has the pixels [floor(i in / out), ceil((i + 1) in / out)), as in PyTorch: windows may overlap by one.
  const size_t first = i * in / out, count = ((i + 1) * in + out - 1) / out - first;
  return {first, count, count};
}
HWY_INLINE Span row_span(const AdaptivePool2dShape& s, size_t i) { return adaptive_span(i, s.height, s.out_rows); }
HWY_INLINE Span column_span(const AdaptivePool2dShape& s, size_t j) { return adaptive_span(j, s.width, s.out_columns); }

// Runs op.run<rows, columns>(access, window, x offset, y offset) for every vector of channels of every
// window, in y's order. rows and columns are 2 for the window that nearly every network uses, so that its
// loops vanish; else 0, and the window says them.
template <class Shape, class Op>
HWY_INLINE void for_each_window(const Shape& s, const Op& op) {
  const size_t out_h = s.out_h(), out_w = s.out_w(), channels = s.channels;
  const size_t whole = channels / kLanes * kLanes;
  const Part part(HWY_MAX(size_t{1}, channels - whole));
  size_t y = 0;
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t i = 0; i < out_h; ++i) {
      const Span rows = row_span(s, i);
      const size_t line = (n * s.height + rows.first) * s.width;
      for (size_t j = 0; j < out_w; ++j, y += channels) {
        const Span columns = column_span(s, j);
        const Window window{(line + columns.first) * channels, rows.count, columns.count,
                            rows.counted * columns.counted};
        if (rows.count == 2 && columns.count == 2) {
          for (size_t c = 0; c < whole; c += kLanes) op.template run<2, 2>(Whole(), window, window.origin + c, y + c);
          if (whole < channels) op.template run<2, 2>(part, window, window.origin + whole, y + whole);
        } else {
          for (size_t c = 0; c < whole; c += kLanes) op.template run<0, 0>(Whole(), window, window.origin + c, y + c);
          if (whole < channels) op.template run<0, 0>(part, window, window.origin + whole, y + whole);
        }
      }
    }
  }
}

// Calls visit(offset from the window's first pixel) for the window's pixels in row-major order.
template <size_t kRows, size_t kColumns, class Shape, class Visit>
HWY_INLINE void for_each_pixel(const Shape& s, const Window& window, Visit& visit) {
  const size_t rows = kRows != 0 ? kRows : window.rows, columns = kColumns != 0 ? kColumns : window.columns;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) visit((r * s.width + c) * s.channels);
  }
}

// The windows neither overlap nor leave a pixel out: then every dx is written exactly once.
bool windows_tile_the_image(const Pool2dShape& s) {
  return s.stride_h == s.kernel_h && s.stride_w == s.kernel_w && s.out_h() * s.stride_h == s.height &&
         s.out_w() * s.stride_w == s.width;
}
bool windows_overlap(const Pool2dShape& s) { return s.stride_h < s.kernel_h || s.stride_w < s.kernel_w; }

bool windows_tile_the_image(const AdaptivePool2dShape& s) {
  return s.height % s.out_rows == 0 && s.width % s.out_columns == 0;
}
bool windows_overlap(const AdaptivePool2dShape& s) { return !windows_tile_the_image(s); }

template <class Shape>
void clear_unless_tiled(const Shape& s, float* dx) {
  // Pixels that no window reads have the gradient 0, and overlapping windows add to what is there.
  if (!windows_tile_the_image(s)) std::memset(dx, 0, s.batch * s.height * s.width * s.channels * sizeof(float));
}

struct TakeMax {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Max(a, b); }
};
struct TakeSum {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Add(a, b); }
};

template <class Access, class Combine>
struct Fold {
  const Access& access;
  const float* x;
  Vector result;
  bool is_first = true;

  HWY_INLINE void operator()(size_t offset) {
    const Vector value = access.load(x + offset);
    result = is_first ? value : Combine()(result, value);
    is_first = false;
  }
};

template <class Shape>
struct MaxForward {
  const Shape& s;
  const float* x;
  float* y;

  template <size_t kRows, size_t kColumns, class Access>
  HWY_INLINE void run(const Access& access, const Window& window, size_t from, size_t to) const {
    Fold<Access, TakeMax> fold{access, x + from, hn::Zero(Tag())};
    for_each_pixel<kRows, kColumns>(s, window, fold);
    access.store(fold.result, y + to);
  }
};

template <class Shape>
struct AverageForward {
  const Shape& s;
  const float* x;
  float* y;

  template <size_t kRows, size_t kColumns, class Access>
  HWY_INLINE void run(const Access& access, const Window& window, size_t from, size_t to) const {
    Fold<Access, TakeSum> fold{access, x + from, hn::Zero(Tag())};
    for_each_pixel<kRows, kColumns>(s, window, fold);
    const Vector count = hn::Set(Tag(), static_cast<float>(window.counted));
    access.store(hn::Div(fold.result, count), y + to);
  }
};

// Gives the gradient to the first pixel that equals the maximum, and zero to the others.
template <class Access, bool kOverlap>
struct GiveToFirst {
  const Access& access;
  const float* x;
  float* dx;
  Vector top, gradient;

  HWY_INLINE void operator()(size_t offset) {
    const auto here = hn::Eq(access.load(x + offset), top);
    Vector share = hn::IfThenElseZero(here, gradient);
    // Given away: equal pixels behind the first get 0. A sum of several would make the gradient larger than it was.
    gradient = hn::IfThenZeroElse(here, gradient);
    if (kOverlap) share = hn::Add(share, access.load(dx + offset));
    access.store(share, dx + offset);
  }
};

// Finds the maximum again by comparing with y, which costs less than an index array would.
template <class Shape, bool kOverlap>
struct MaxBackward {
  const Shape& s;
  const float *x, *y, *dy;
  bool through_relu;
  float* dx;

  template <size_t kRows, size_t kColumns, class Access>
  HWY_INLINE void run(const Access& access, const Window& window, size_t from, size_t to) const {
    const Vector top = access.load(y + to);
    Vector gradient = access.load(dy + to);
    // x is what a ReLU gave: where the largest value of a window is 0, the ReLU let nothing through.
    if (through_relu) gradient = hn::IfThenElseZero(hn::Gt(top, hn::Zero(Tag())), gradient);
    GiveToFirst<Access, kOverlap> give{access, x + from, dx + from, top, gradient};
    for_each_pixel<kRows, kColumns>(s, window, give);
  }
};

template <class Access, bool kOverlap>
struct GiveToAll {
  const Access& access;
  float* dx;
  Vector share;

  HWY_INLINE void operator()(size_t offset) {
    access.store(kOverlap ? hn::Add(share, access.load(dx + offset)) : share, dx + offset);
  }
};

template <class Shape, bool kOverlap>
struct AverageBackward {
  const Shape& s;
  const float* dy;
  float* dx;

  template <size_t kRows, size_t kColumns, class Access>
  HWY_INLINE void run(const Access& access, const Window& window, size_t from, size_t to) const {
    const Vector count = hn::Set(Tag(), static_cast<float>(window.counted));
    GiveToAll<Access, kOverlap> give{access, dx + from, hn::Div(access.load(dy + to), count)};
    for_each_pixel<kRows, kColumns>(s, window, give);
  }
};

// Here and below, x and dx: [batch, height, width, channels]; y and dy: [batch, out_h, out_w, channels].
template <class Shape>
void max_pool2d_forward(const Shape& s, const float* x, float* y) {
  for_each_window(s, MaxForward<Shape>{s, x, y});
}

template <class Shape>
void max_pool2d_backward(const Shape& s, const float* x, const float* y, const float* dy, bool through_relu,
                         float* dx) {
  clear_unless_tiled(s, dx);
  if (windows_overlap(s)) {
    for_each_window(s, MaxBackward<Shape, true>{s, x, y, dy, through_relu, dx});
  } else {
    for_each_window(s, MaxBackward<Shape, false>{s, x, y, dy, through_relu, dx});
  }
}

template <class Shape>
void average_pool2d_forward(const Shape& s, const float* x, float* y) {
  for_each_window(s, AverageForward<Shape>{s, x, y});
}

template <class Shape>
void average_pool2d_backward(const Shape& s, const float* dy, float* dx) {
  clear_unless_tiled(s, dx);
  if (windows_overlap(s)) {
    for_each_window(s, AverageBackward<Shape, true>{s, dy, dx});
  } else {
    for_each_window(s, AverageBackward<Shape, false>{s, dy, dx});
  }
}

}  // namespace

void fill_pool_target(PoolKernels<float>& table) {
  COT_SET(max_pool2d_forward, max_pool2d_forward<Pool2dShape>);
  COT_SET(adaptive_max_pool2d_forward, max_pool2d_forward<AdaptivePool2dShape>);
  COT_SET(max_pool2d_backward, max_pool2d_backward<Pool2dShape>);
  COT_SET(adaptive_max_pool2d_backward, max_pool2d_backward<AdaptivePool2dShape>);
  COT_SET(average_pool2d_forward, average_pool2d_forward<Pool2dShape>);
  COT_SET(adaptive_average_pool2d_forward, average_pool2d_forward<AdaptivePool2dShape>);
  COT_SET(average_pool2d_backward, average_pool2d_backward<Pool2dShape>);
  COT_SET(adaptive_average_pool2d_backward, average_pool2d_backward<AdaptivePool2dShape>);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(pool, PoolKernels)
}  // namespace coterie::kernels::simd
#endif
