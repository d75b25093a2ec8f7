// Convolution by Fourier transforms: a tile of x and the kernel are transformed, multiplied position by position, and
// transformed back; the products that did not wrap round are y. Source: Press et al., "Numerical Recipes", 3rd edition,
// 13.1 (overlap-save); Mathieu, Henaff and LeCun, "Fast Training of Convolutional Networks through FFTs", 2014.
//
//   depthwise  a vector of channels at a time, for all images: one column is multiplied while it is in L1.
//   dense      the products of a position are one matrix product over channels. A tile's row holds (xi, xr, -xi): with
//              the weights (wr, wi) below each other, its last two thirds make the real part of the product and its
//              first two the imaginary one, so every weight is held once.
//
// A correlation, as a convolution layer is, takes the conjugate of the kernel's transform.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/fft_conv2d.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/fft_tiles.h"
#include "train_kernels/simd/fft_conv2d_inl.h"
#include "train_kernels/simd/fft_tile_inl.h"
#include "train_kernels/simd/gemm_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// body(i, lanes) for every vector of n floats from i.
template <class Body>
void for_each_lanes(size_t n, const Body& body) {
  for (size_t i = 0; i < n; i += kLanes) body(i, Lanes{HWY_MIN(kLanes, n - i)});
}

// What both forms share.
struct FftCall {
  const Conv2dShape& s;
  FftTiles tiles;
  Range rows;
  const float *x, *w, *bias;
  bool turned;
  Activation activation;
  float* y;

  // Tiles that touch `rows`, image by image.
  size_t first_row() const { return rows.begin / tiles.outputs_h; }
  size_t tile_rows() const { return (rows.end + tiles.outputs_h - 1) / tiles.outputs_h - first_row(); }
  size_t tile_count() const { return s.batch * tile_rows() * tiles.columns; }

  struct Place {
    size_t image, row, column;  // of its first output
  };
  Place place(size_t t) const {
    const size_t in_image = t % (tile_rows() * tiles.columns);
    return {t / (tile_rows() * tiles.columns), (first_row() + in_image / tiles.columns) * tiles.outputs_h,
            in_image % tiles.columns * tiles.outputs_w};
  }

  void begin(const TransformedTile& tile, const Place& at, size_t c, Lanes lanes) const {
    const auto pixel = static_cast<ptrdiff_t>(s.channels), row = static_cast<ptrdiff_t>(s.width) * pixel;
    const Plane plane{x + at.image * s.height * s.width * s.channels + c, row, pixel, s.height, s.width};
    tile.begin(plane, static_cast<ptrdiff_t>(at.row) - static_cast<ptrdiff_t>(s.pad_top),
               static_cast<ptrdiff_t>(at.column) - static_cast<ptrdiff_t>(s.pad_left), lanes);
  }
  // The taps of channel c (depthwise: 0) and the filters from o.
  void begin_weights(const TransformedTile& tile, size_t c, size_t o, Lanes lanes) const {
    const size_t taps = s.kernel_h * s.kernel_w, tap = s.channels / s.groups * s.filters;
    auto column = static_cast<ptrdiff_t>(tap), row = static_cast<ptrdiff_t>(s.kernel_w) * column;
    const float* base = w + c * s.filters + o;
    if (turned) {
      base += (taps - 1) * tap;
      column = -column;
      row = -row;
    }
    tile.begin({base, row, column, s.kernel_h, s.kernel_w}, 0, 0, lanes);
  }
  void finish(const TransformedTile& tile, const Place& at, size_t o, Lanes lanes) const {
    const size_t row = s.out_w() * s.filters;
    const Finished to{y + at.image * s.out_h() * row + o,   row,       s.filters, rows, s.out_w(),
                      bias == nullptr ? nullptr : bias + o, activation};
    tile.finish(to, at.row, at.column, tiles.outputs_h, tiles.outputs_w, lanes);
  }

  // Transforms of rows are left at twice their values (TransformedTile::take_apart), those of x and those of w: a
  // quarter. size^2 is the transform back.
  float scale() const { return 0.25f / static_cast<float>(tiles.size * tiles.size); }
};

// A vector of channels of every image.
struct DepthwiseVector {
  const FftCall& call;
  const TransformedTile& tile;
  float* weights;

  void operator()(size_t c, Lanes lanes) const {
    const size_t size = tile.size;
    // The scale of the transform back goes into the weights, which are transformed once. The sign makes the conjugate.
    const Vector scale = hn::Set(Tag(), call.scale()), negative = hn::Neg(scale);
    call.begin_weights(tile, 0, c, lanes);
    for (size_t k = 0; k < tile.frequencies; ++k) {
      tile.transform(k);
      const ComplexLine to = line_at(weights + k * 2 * size * kLanes);
      for (size_t m = 0; m < size; ++m) {
        const Complex value = tile.line.load(m);
        to.store({hn::Mul(value.re, scale), hn::Mul(value.im, negative)}, m);
      }
    }
    for (size_t t = 0; t < call.tile_count(); ++t) {
      const FftCall::Place at = call.place(t);
      call.begin(tile, at, c, lanes);
      for (size_t k = 0; k < tile.frequencies; ++k) {
        tile.transform(k);
        multiply(line_at(weights + k * 2 * size * kLanes));
        tile.transform_back(k);
      }
      call.finish(tile, at, c, lanes);
    }
  }

  void multiply(const ComplexLine& by) const {
    for (size_t m = 0; m < tile.size; ++m) {
      const Complex a = tile.line.load(m), b = by.load(m);
      tile.line.store({hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)), hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))}, m);
    }
  }
};

// One channel's weights for a vector of filters, into the packed weights (pack_b's layout) of every position.
struct WeightsVector {
  const FftCall& call;
  const TransformedTile& tile;
  size_t channel, panel, step;
  float* to;

  void operator()(size_t o, Lanes lanes) const {
    const size_t channels = call.s.channels;
    const Vector scale = hn::Set(Tag(), call.scale()), negative = hn::Neg(scale);
    call.begin_weights(tile, channel, o, lanes);
    float* at = to + o / panel * panel * 2 * channels + channel * panel + o % panel;
    for (size_t k = 0; k < tile.frequencies; ++k) {
      tile.transform(k);
      for (size_t m = 0; m < tile.size; ++m, at += step) {
        const Complex value = tile.line.load(m);
        hn::StoreU(hn::Mul(value.re, scale), Tag(), at);
        hn::StoreU(hn::Mul(value.im, negative), Tag(), at + channels * panel);
      }
    }
  }
};

// A vector of a tile's channels, into the rows of every position.
struct InputVector {
  const FftCall& call;
  const TransformedTile& tile;
  FftCall::Place place;
  size_t step;
  float* to;

  void operator()(size_t c, Lanes lanes) const {
    call.begin(tile, place, c, lanes);
    float* at = to + c;
    for (size_t k = 0; k < tile.frequencies; ++k) {
      tile.transform(k);
      for (size_t m = 0; m < tile.size; ++m, at += step) {
        const Complex value = tile.line.load(m);
        lanes.store(value.im, at);
        lanes.store(value.re, at + call.s.channels);
        lanes.store(hn::Neg(value.im), at + 2 * call.s.channels);
      }
    }
  }
};

// A vector of a tile's filters, from the products of every position.
struct OutputVector {
  const FftCall& call;
  const TransformedTile& tile;
  FftCall::Place place;
  size_t step;
  const float* products;

  void operator()(size_t o, Lanes lanes) const {
    const float* at = products + o;
    for (size_t k = 0; k < tile.frequencies; ++k) {
      for (size_t m = 0; m < tile.size; ++m, at += step) {
        tile.line.store({lanes.load(at), lanes.load(at + call.s.filters)}, m);
      }
      tile.transform_back(k);
    }
    call.finish(tile, place, o, lanes);
  }
};

void dense(const FftCall& call, const TransformedTile& tile, Scratch& scratch) {
  const Conv2dShape& s = call.s;
  const size_t positions = call.tiles.positions(), at_once = call.tiles.at_once(s), row = 3 * s.channels;
  // Steps are not powers of two, which would put all positions into the same places of the cache.
  const size_t panel = panel_of(s.filters), weights_step = packed_b_floats(2 * s.channels, s.filters) + 16;
  const size_t input_step = at_once * row + 16, product_step = at_once * 2 * s.filters + 16;
  float* weights = scratch.take<float>(positions * weights_step);
  float* input = scratch.take<float>(positions * input_step);
  float* products = scratch.take<float>(positions * product_step);
  int32_t* offsets = scratch.take<int32_t>(2 * at_once);
  for (size_t t = 0; t < at_once; ++t) {
    offsets[2 * t] = static_cast<int32_t>(t * row + s.channels);
    offsets[2 * t + 1] = static_cast<int32_t>(t * row);
  }
  for (size_t c = 0; c < s.channels; ++c) {
    for_each_lanes(s.filters, WeightsVector{call, tile, c, panel, weights_step, weights});
  }
  for (size_t first = 0; first < call.tile_count(); first += at_once) {
    const size_t some = HWY_MIN(at_once, call.tile_count() - first);
    for (size_t t = 0; t < some; ++t) {
      for_each_lanes(s.channels, InputVector{call, tile, call.place(first + t), input_step, input + t * row});
    }
    for (size_t p = 0; p < positions; ++p) {
      // Two rows a tile: (xr, -xi), whose product with (wr, wi) is the real part, and (xi, xr), whose product is the
      // imaginary one. A [2 * tiles, 2 * channels], B [2 * channels, filters], C [2 * tiles, filters].
      const MatrixA a{input + p * input_step, {offsets, 0}, nullptr, 1, 2 * s.channels, 1};
      const MatrixB b{weights + p * weights_step, panel, panel * 2 * s.channels, panel};
      gemm(2 * some, s.filters, a, b, {products + p * product_step, {nullptr, static_cast<ptrdiff_t>(s.filters)}}, {});
    }
    for (size_t t = 0; t < some; ++t) {
      for_each_lanes(s.filters,
                     OutputVector{call, tile, call.place(first + t), product_step, products + t * 2 * s.filters});
    }
  }
}

}  // namespace

// x: [batch, height, width, channels]; w: [kernel_h, kernel_w, channels / groups, filters], as it is or (depthwise) to
// be read turned half round; bias: [filters] or null; y: [batch, out_h, out_w, filters], some rows of it.
void fft_forward(const Conv2dShape& s, Range rows, const float* x, const float* w, bool turned, const float* bias,
                 Activation activation, float* y, Scratch& scratch) {
  const FftTiles tiles(s, fft_size(s));
  const FftCall call{s, tiles, rows, x, w, bias, turned, activation, y};
  const TransformedTile tile(tiles, scratch);
  if (!s.is_depthwise()) return dense(call, tile, scratch);
  float* weights = scratch.take<float>(tiles.positions() * 2 * kLanes);
  for_each_lanes(s.channels, DepthwiseVector{call, tile, weights});
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
