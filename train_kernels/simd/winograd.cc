// Winograd's minimal filtering over two dimensions: y = A^T [(G w G^T) (B^T x B)] A for each tile, where the
// products of a position are one matrix product over channels. Matrices: Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2016, 4.1 and 4.3 (points 0, 1, -1 and 0, 1, -1, 2, -2).
//
// The image is copied into its border. Some tiles at a time are transformed, multiplied position by position,
// and transformed back with bias and ReLU, all within L2. Transforms work on vectors of channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/winograd.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/conv2d_algorithm.h"
#include "train_kernels/range.h"
#include "train_kernels/simd/image_inl.h"
#include "train_kernels/simd/map_inl.h"
#include "train_kernels/simd/products_inl.h"
#include "train_kernels/simd/winograd_filter_inl.h"
#include "train_kernels/simd/winograd_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// Transformed tiles, or their products: [positions][tiles][channels], positions `step` floats apart: not a
// power of two, which would put them into the same lines of the cache.
struct Transformed {
  Transformed(size_t positions, size_t tiles, size_t channel_count, Scratch& scratch)
      : channels(channel_count), step(tiles * channels + 16), base(scratch.take<float>(positions * step)) {}

  size_t channels, step;
  float* base;
};

// (G w G^T) of one input channel and a vector of filters, into the packed weights of every position.
template <size_t kOutputs>
struct TransformWeights {
  const float* w;                                 // of the channel
  size_t tap_step, to_step, depth, first, panel;  // `first`: the filter that w begins with
  float* to;

  template <class Lanes>
  HWY_INLINE void operator()(size_t i0, const Lanes& lanes) const {
    using F = Filter<kOutputs>;
    Vector rows[3][F::kSize], g[3], column[F::kSize];
    COT_UNROLL for (size_t i = 0; i < 3; ++i) {
      COT_UNROLL for (size_t j = 0; j < 3; ++j) g[j] = lanes.load(w + (i * 3 + j) * tap_step + i0);
      F::weights(g, rows[i]);
    }
    const size_t o = first + i0;
    float* at = to + o / panel * panel * depth + o % panel;  // pack_b's layout
    COT_UNROLL for (size_t j = 0; j < F::kSize; ++j) {
      COT_UNROLL for (size_t i = 0; i < 3; ++i) g[i] = rows[i][j];
      F::weights(g, column);
      COT_UNROLL for (size_t i = 0; i < F::kSize; ++i) hn::StoreU(column[i], Tag(), at + (i * F::kSize + j) * to_step);
    }
  }
};

// (B^T x B) of one tile and a vector of channels.
template <size_t kOutputs>
struct TransformInput {
  const float* x;
  size_t row_step, channels, to_step;
  float* to;

  template <class Lanes>
  HWY_INLINE void operator()(size_t c, const Lanes& lanes) const {
    using F = Filter<kOutputs>;
    Vector rows[F::kSize][F::kSize], d[F::kSize], v[F::kSize];
    COT_UNROLL for (size_t i = 0; i < F::kSize; ++i) {
      COT_UNROLL for (size_t j = 0; j < F::kSize; ++j) d[j] = lanes.load(x + i * row_step + j * channels + c);
      F::input(d, rows[i]);
    }
    COT_UNROLL for (size_t j = 0; j < F::kSize; ++j) {
      COT_UNROLL for (size_t i = 0; i < F::kSize; ++i) d[i] = rows[i][j];
      F::input(d, v);
      COT_UNROLL for (size_t i = 0; i < F::kSize; ++i) lanes.store(v[i], to + (i * F::kSize + j) * to_step + c);
    }
  }
};

// (A^T m A) of one tile and a vector of filters, of which y has rows x columns.
template <size_t kOutputs>
struct TransformOutput {
  const float* products;
  size_t from_step;
  const float* bias;
  Activation activation;
  size_t rows, columns, row_step, filters;
  float* y;

  template <class Lanes>
  HWY_INLINE void operator()(size_t o, const Lanes& lanes) const {
    using F = Filter<kOutputs>;
    Vector half[kOutputs][F::kSize], m[F::kSize], out[kOutputs];
    COT_UNROLL for (size_t j = 0; j < F::kSize; ++j) {
      COT_UNROLL for (size_t i = 0; i < F::kSize; ++i) m[i] = lanes.load(products + (i * F::kSize + j) * from_step + o);
      F::output(m, out);
      COT_UNROLL for (size_t i = 0; i < kOutputs; ++i) half[i][j] = out[i];
    }
    const Vector start = bias == nullptr ? hn::Zero(Tag()) : lanes.load(bias + o);
    for (size_t i = 0; i < rows; ++i) {
      F::output(half[i], out);
      for (size_t j = 0; j < columns; ++j) {
        const Vector value = hn::Add(out[j], start);
        lanes.store(activated(activation, value), y + i * row_step + j * filters + o);
      }
    }
  }
};

constexpr size_t kBlock = 16;

// Tap t of row r and column c of a block becomes tap 8 - t of row c and column r.
HWY_NOINLINE void turn_block(size_t rows, size_t columns, const float* from, size_t tap_step, size_t row_step,
                             float (&to)[9][kBlock][kBlock]) {
  for (size_t t = 0; t < 9; ++t) transpose(rows, columns, from + t * tap_step, row_step, to[8 - t][0], kBlock);
}

template <size_t kOutputs>
struct Winograd {
  static constexpr size_t kSize = Filter<kOutputs>::kSize, kPositions = kSize * kSize;

  const Conv2dShape& s;
  WinogradTiles tiles;
  Conv2dShape bordered;  // s with what the last tiles reach
  size_t images, panel;

  explicit Winograd(const Conv2dShape& shape)
      : s(shape),
        tiles(shape, kOutputs),
        bordered(tiles.bordered(shape)),
        images(tiles.images(shape)),
        panel(panel_of(shape.filters)) {}

  // Transforms `count` filters from `first` on; their taps at `w` lie tap_step apart. `to`: where those of filter 0 go.
  HWY_NOINLINE void transform_filters(const float* w, size_t tap_step, size_t first, size_t count, float* to) const {
    for_each_vector(count, TransformWeights<kOutputs>{w, tap_step, weights_step(), s.channels, first, panel, to});
  }

  void transform_weights(Range channels, const float* w, float* to) const {
    for (size_t c = channels.begin; c < channels.end; ++c) {
      transform_filters(w + c * s.filters, s.channels * s.filters, 0, s.filters, to + c * panel);
    }
  }

  // The same of weights that are still to be turned half round, in blocks that stay in the nearest cache.
  void transform_turned_weights(Range channels, const float* w, float* to) const {
    for (size_t c = channels.begin; c < channels.end; c += kBlock) {
      const size_t deep = HWY_MIN(kBlock, channels.end - c);
      for (size_t o = 0; o < s.filters; o += kBlock) {
        const size_t wide = HWY_MIN(kBlock, s.filters - o);
        HWY_ALIGN float turned[9][kBlock][kBlock];
        turn_block(wide, deep, w + o * s.channels + c, s.filters * s.channels, s.channels, turned);
        for (size_t i = 0; i < deep; ++i) {
          transform_filters(turned[0][i], kBlock * kBlock, o, wide, to + (c + i) * panel);
        }
      }
    }
  }

  void prepare(Range channels, bool turn, const float* w, float* to) const {
    return turn ? transform_turned_weights(channels, w, to) : transform_weights(channels, w, to);
  }

  size_t weights_step() const { return packed_b_floats(s.channels, s.filters); }

  // Tile t of some images: the image it is in, and its first output.
  struct Place {
    size_t image, row, column;
  };
  Place place(size_t t) const {
    const size_t in_image = t % tiles.of_image();
    return {t / tiles.of_image(), in_image / tiles.columns * kOutputs, in_image % tiles.columns * kOutputs};
  }

  void transform_input(const float* x, Range some, const Transformed& to) const {
    const size_t row_step = bordered.padded_w() * s.channels;
    for (size_t t = some.begin; t < some.end; ++t) {
      const Place at = place(t);
      const float* from = x + (at.image * bordered.padded_h() + at.row) * row_step + at.column * s.channels;
      for_each_vector(s.channels, TransformInput<kOutputs>{from, row_step, s.channels, to.step,
                                                           to.base + (t - some.begin) * s.channels});
    }
  }

  void transform_output(const Transformed& products, Range some, const float* bias, Activation activation,
                        float* y) const {
    for (size_t t = some.begin; t < some.end; ++t) {
      const Place at = place(t);
      float* to = y + ((at.image * s.out_h() + at.row) * s.out_w() + at.column) * s.filters;
      for_each_vector(s.filters, TransformOutput<kOutputs>{products.base + (t - some.begin) * s.filters, products.step,
                                                           bias, activation, HWY_MIN(kOutputs, s.out_h() - at.row),
                                                           HWY_MIN(kOutputs, s.out_w() - at.column),
                                                           s.out_w() * s.filters, s.filters, to});
    }
  }

  template <class Products>
  void forward(Range rows, const float* x, const float* weights, const float* bias, Activation activation, float* y,
               Scratch& scratch) const {
    const size_t at_once = tiles.held(s), tile_rows = (rows.size() + kOutputs - 1) / kOutputs;
    const Transformed input(kPositions, at_once, s.channels, scratch);
    const Transformed products(kPositions, at_once, s.filters, scratch);
    PaddedImage image(bordered, images, {rows.begin, rows.begin + tile_rows * kOutputs + 2}, scratch);
    const Products product_of(s.filters);
    for (size_t n = 0; n < s.batch; n += images) {
      const size_t some = HWY_MIN(images, s.batch - n);
      const size_t first = rows.begin / kOutputs * tiles.columns;
      const size_t end = first + some * tile_rows * tiles.columns;
      const float* base = image.padded(x + n * s.height * s.width * s.channels, some);
      for (size_t t = first; t < end; t += at_once) {
        const Range block{t, HWY_MIN(end, t + at_once)};
        transform_input(base, block, input);
        for (size_t p = 0; p < kPositions; ++p) {
          const MatrixA a{
              input.base + p * input.step, {nullptr, static_cast<ptrdiff_t>(s.channels)}, nullptr, 1, s.channels, 1};
          const MatrixB b = packed_b(s.channels, s.filters, weights + p * weights_step());
          product_of.multiply(block.size(), s.filters, a, b,
                              {products.base + p * products.step, {nullptr, static_cast<ptrdiff_t>(s.filters)}}, {});
        }
        transform_output(products, block, bias, activation, y + n * s.out_h() * s.out_w() * s.filters);
      }
    }
  }
};

}  // namespace

// w: [3, 3, channels, filters], or turned half round with the two in each other's place; prepared: for each position of
// a tile, [channels, filters] in panels.
void winograd_prepare(const Conv2dShape& s, Range channels, size_t outputs, bool turn, const float* w,
                      float* prepared) {
  if (!kHasWinograd4x4 || outputs == 2) return Winograd<2>(s).prepare(channels, turn, w, prepared);
  Winograd<4>(s).prepare(channels, turn, w, prepared);
}

// x: [batch, height, width, channels]; bias: [filters] or null; y: [batch, out_h, out_w, filters], some rows of it. A
// tile has outputs x outputs of them: 4 takes fewer multiplies, 2 has the smaller error.
template <class Products>
void winograd_forward(const Conv2dShape& s, Range rows, size_t outputs, const float* x, const float* prepared,
                      const float* bias, Activation activation, float* y, Scratch& scratch) {
  if (!kHasWinograd4x4 || outputs == 2) {
    return Winograd<2>(s).forward<Products>(rows, x, prepared, bias, activation, y, scratch);
  }
  // Its transforms multiply what rounding is off by: bfloat16 would leave two digits or fewer.
  Winograd<4>(s).forward<Float32Products>(rows, x, prepared, bias, activation, y, scratch);
}

template void winograd_forward<Float32Products>(const Conv2dShape&, Range, size_t, const float*, const float*,
                                                const float*, Activation, float*, Scratch&);
#if COT_TARGET_HAS_BFLOAT16
template void winograd_forward<Bfloat16Products>(const Conv2dShape&, Range, size_t, const float*, const float*,
                                                 const float*, Activation, float*, Scratch&);
#endif

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
