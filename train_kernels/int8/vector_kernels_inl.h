// The kernels of one instruction set, in the namespace of whoever includes it, which has before defined
//
//   COT_TARGET                 the function attribute of the instruction set
//   Ints, Floats               kLanes int32 or float each
//   load_ints, load_floats, first_floats (the first n), store_floats, first_bytes (the first n int8, widened),
//   store_ints, splat_ints, splat_floats, add_ints, max_ints, to_floats, multiply, add_floats, divide,
//   dot (sums + products of lanes), push (a lane one element on, with a new first one),
//   store_rounded(floats, bounds, zero, y, n): `rounded` of kernels.h
//
// What calls what here has the same attribute, so that it is inlined. No lambda has it.

struct Bounds {
  Floats low, high;
  Ints zero;
};
COT_TARGET inline Bounds bounds_of(const Target& to) {
  return {splat_floats(static_cast<float>(to.low - to.zero)), splat_floats(static_cast<float>(to.high - to.zero)),
          splat_ints(to.zero)};
}

inline int32_t lane_at(const uint8_t* from) {
  int32_t lane;
  std::memcpy(&lane, from, sizeof lane);
  return lane;
}

COT_TARGET void fill_columns(const DepthwiseTask& task, bool is_first) {
  const Conv2dShape& s = *task.shape;
  const Ints padding = splat_ints(task.zero + task.move), move = splat_ints(task.move);
  Ints around = padding;
  for (size_t i = 1; i < kLaneBytes; ++i) around = push(around, padding);
  uint32_t* to = task.columns;
  for (size_t i = 0; i < s.padded_h(); ++i, to += s.padded_w() * kLanes) {
    if (i < s.pad_top || i >= s.pad_top + s.height) {
      for (size_t j = 0; is_first && j < s.padded_w(); ++j) store_ints(to + j * kLanes, around);
      continue;
    }
    const int8_t* const row = task.x + (i - s.pad_top) * s.width * s.channels;
    Ints lanes = around;
    for (size_t j = s.padded_w(); j-- > 0;) {
      const bool is_real = j >= s.pad_left && j < s.pad_left + s.width;
      lanes = push(lanes,
                   is_real ? add_ints(first_bytes(row + (j - s.pad_left) * s.channels, task.channels), move) : padding);
      store_ints(to + j * kLanes, lanes);
    }
  }
}

template <size_t kPixels>
COT_TARGET void depthwise_pixels(const DepthwiseTask& task, const Bounds& bounds, size_t row, size_t column,
                                 int8_t* y) {
  const Conv2dShape& s = *task.shape;
  Ints sums[kPixels];
  COT_UNROLL
  for (size_t p = 0; p < kPixels; ++p) sums[p] = load_ints(task.bias);
  const uint8_t* weights = task.weights;
  for (size_t kh = 0; kh < s.kernel_h; ++kh) {
    const uint32_t* const window =
        task.columns + ((row * s.stride_h + kh) * s.padded_w() + column * s.stride_w) * kLanes;
    for (size_t kw = 0; kw < s.kernel_w; kw += kLaneElements, weights += kLanes * kLaneBytes) {
      const Ints taps = load_ints(weights);
      COT_UNROLL
      for (size_t p = 0; p < kPixels; ++p) {
        sums[p] = dot(sums[p], load_ints(window + (p * s.stride_w + kw) * kLanes), taps);
      }
    }
  }
  const Floats multipliers = load_floats(task.multipliers);
  COT_UNROLL
  for (size_t p = 0; p < kPixels; ++p) {
    store_rounded(multiply(to_floats(sums[p]), multipliers), bounds, y + p * s.channels, task.channels);
  }
}

COT_TARGET void depthwise(const DepthwiseTask& task) {
  constexpr size_t kAtOnce = 8;
  const Conv2dShape& s = *task.shape;
  const Bounds bounds = bounds_of(task.to);
  for (size_t i = 0; i < s.out_h(); ++i) {
    int8_t* const row = task.y + i * s.out_w() * s.channels;
    size_t j = 0;
    for (; j + kAtOnce <= s.out_w(); j += kAtOnce) {
      depthwise_pixels<kAtOnce>(task, bounds, i, j, row + j * s.channels);
    }
    for (; j < s.out_w(); ++j) depthwise_pixels<1>(task, bounds, i, j, row + j * s.channels);
  }
}

COT_TARGET void quantise(const Grid& grid, size_t count, const float* x, int8_t* y) {
  const Bounds bounds = bounds_of({.zero = grid.zero});
  const Floats scale = splat_floats(grid.scale);
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t n = std::min(kLanes, count - i);
    store_rounded(divide(first_floats(x + i, n), scale), bounds, y + i, n);
  }
}

COT_TARGET void dequantise(const Grid& grid, size_t count, const int8_t* x, float* y) {
  const Ints zero = splat_ints(-grid.zero);
  const Floats scale = splat_floats(grid.scale);
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t n = std::min(kLanes, count - i);
    store_floats(y + i, multiply(scale, to_floats(add_ints(first_bytes(x + i, n), zero))), n);
  }
}

COT_TARGET void add(size_t count, const Summand& a, const Summand& b, const Target& to, int8_t* y) {
  const Bounds bounds = bounds_of(to);
  const Ints zero_a = splat_ints(-a.zero), zero_b = splat_ints(-b.zero);
  const Floats by_a = splat_floats(a.multiplier), by_b = splat_floats(b.multiplier);
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t n = std::min(kLanes, count - i);
    const Floats left = multiply(to_floats(add_ints(first_bytes(a.values + i, n), zero_a)), by_a);
    const Floats right = multiply(to_floats(add_ints(first_bytes(b.values + i, n), zero_b)), by_b);
    store_rounded(add_floats(left, right), bounds, y + i, n);
  }
}

COT_TARGET void max_pixels(size_t channels, size_t rows, size_t columns, size_t row_stride, const int8_t* x,
                           int8_t* y) {
  const Bounds same = bounds_of({});
  for (size_t c = 0; c < channels; c += kLanes) {
    const size_t n = std::min(kLanes, channels - c);
    Ints most = splat_ints(-128);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) most = max_ints(most, first_bytes(x + i * row_stride + j * channels + c, n));
    }
    store_rounded(to_floats(most), same, y + c, n);
  }
}

COT_TARGET void mean_pixels(size_t channels, size_t rows, size_t columns, size_t row_stride, int8_t zero, float divisor,
                            float multiplier, const Target& to, const int8_t* x, int8_t* y) {
  const Bounds bounds = bounds_of(to);
  const Ints taken = splat_ints(-zero);
  for (size_t c = 0; c < channels; c += kLanes) {
    const size_t n = std::min(kLanes, channels - c);
    Ints sum = splat_ints(0);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) {
        sum = add_ints(sum, add_ints(first_bytes(x + i * row_stride + j * channels + c, n), taken));
      }
    }
    store_rounded(multiply(divide(to_floats(sum), splat_floats(divisor)), splat_floats(multiplier)), bounds, y + c, n);
  }
}
