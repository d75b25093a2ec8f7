// The kernels of one instruction set, in the namespace of whoever includes it, which has before defined
//
//   COT_TARGET                 the function attribute of the instruction set
//   Ints, Floats               kLanes int32 or float each
//   load_ints, load_floats, first_floats (the first n), store_floats, first_bytes (the first n int8, widened),
//   store_ints, splat_ints, splat_floats, add_ints, to_floats, multiply, add_floats, divide,
//   dot (sums + products of lanes),
//   store_rounded(floats, bounds, y, n): `rounded` of kernels.h, of the first n
//   Packed, packed_of(target), kTogether, store_together(floats[kTogether], bounds, y, stride): the same of whole
//                              vectors, each `stride` bytes behind the one before
//   Bytes                      kBytes int8
//   load_bytes, store_bytes, max_bytes
//   kMoved, move_first(n, x, move, to): n of them as elements
//
// What calls what here has the same attribute, so that it is inlined. No lambda has it.

struct Bounds {
  Floats low, high;
  Ints zero;
  Packed packed;
};
COT_TARGET inline Bounds bounds_of(const Target& to) {
  return {splat_floats(static_cast<float>(to.low - to.zero)), splat_floats(static_cast<float>(to.high - to.zero)),
          splat_ints(to.zero), packed_of(to)};
}

// The first n of each vector.
template <size_t kCount>
COT_TARGET inline void store_vectors(const Floats (&v)[kCount], const Bounds& bounds, int8_t* y, size_t stride,
                                     size_t n) {
  constexpr size_t kWhole = kCount / kTogether * kTogether;
  if (n < kLanes) {
    COT_UNROLL
    for (size_t i = 0; i < kCount; ++i) store_rounded(v[i], bounds, y + i * stride, n);
    return;
  }
  COT_UNROLL
  for (size_t i = 0; i < kWhole; i += kTogether) {
    Floats some[kTogether];
    COT_UNROLL
    for (size_t k = 0; k < kTogether; ++k) some[k] = v[i + k];
    store_together(some, bounds, y + i * stride, stride);
  }
  COT_UNROLL
  for (size_t i = kWhole; i < kCount; ++i) store_rounded(v[i], bounds, y + i * stride, kLanes);
}

inline int32_t lane_at(const uint8_t* from) {
  int32_t lane;
  std::memcpy(&lane, from, sizeof lane);
  return lane;
}

COT_TARGET void move_elements(size_t count, const int8_t* x, int move, uint8_t* to) {
  for (size_t i = 0; i < count; i += kMoved) {
    move_first(std::min(kMoved, count - i), x + i, move, to + i * (kLaneBytes / kLaneElements));
  }
}

COT_TARGET void quantise(const Grid& grid, size_t count, const float* x, int8_t* y) {
  const Bounds bounds = bounds_of({.zero = grid.zero});
  const Floats scale = splat_floats(grid.scale);
  size_t i = 0;
  for (; i + kTogether * kLanes <= count; i += kTogether * kLanes) {
    Floats v[kTogether];
    COT_UNROLL
    for (size_t k = 0; k < kTogether; ++k) v[k] = divide(load_floats(x + i + k * kLanes), scale);
    store_together(v, bounds, y + i, kLanes);
  }
  for (; i < count; i += kLanes) {
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

struct Scaling {
  Ints less;
  Floats by;
};
COT_TARGET inline Scaling scaling_of(const Summand& s) { return {splat_ints(-s.zero), splat_floats(s.multiplier)}; }
COT_TARGET inline Floats scaled(const int8_t* x, size_t n, const Scaling& s) {
  return multiply(to_floats(add_ints(first_bytes(x, n), s.less)), s.by);
}

COT_TARGET void add(size_t count, const Summand& a, const Summand& b, const Target& to, int8_t* y) {
  const Bounds bounds = bounds_of(to);
  const Scaling of_a = scaling_of(a), of_b = scaling_of(b);
  size_t i = 0;
  for (; i + kTogether * kLanes <= count; i += kTogether * kLanes) {
    Floats v[kTogether];
    COT_UNROLL
    for (size_t k = 0; k < kTogether; ++k) {
      const size_t at = i + k * kLanes;
      v[k] = add_floats(scaled(a.values + at, kLanes, of_a), scaled(b.values + at, kLanes, of_b));
    }
    store_together(v, bounds, y + i, kLanes);
  }
  for (; i < count; i += kLanes) {
    const size_t n = std::min(kLanes, count - i);
    store_rounded(add_floats(scaled(a.values + i, n, of_a), scaled(b.values + i, n, of_b)), bounds, y + i, n);
  }
}

// Windows 0 to `windows` - 1, in whole vectors: what of one lies behind its channels is of the next, which is written
// afterwards. Columns and rows that are known, if not 0.
template <size_t kRows, size_t kColumns>
COT_TARGET void max_whole(const MaxTask& task, size_t windows) {
  const size_t rows = kRows != 0 ? kRows : task.rows, columns = kColumns != 0 ? kColumns : task.columns;
  const int8_t* x = task.x;
  int8_t* y = task.y;
  for (size_t w = 0; w < windows; ++w, x += task.window_stride, y += task.channels) {
    for (size_t c = 0; c < task.channels; c += kBytes) {
      Bytes most = load_bytes(x + c);
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
          most = max_bytes(most, load_bytes(x + i * task.row_stride + j * task.channels + c));
        }
      }
      store_bytes(y + c, most);
    }
  }
}

void max_windows(const MaxTask& task) {
  const size_t reach = (task.rows - 1) * task.row_stride + (task.columns - 1) * task.channels;
  const size_t whole = (task.channels + kBytes - 1) / kBytes * kBytes;
  const auto x_left = static_cast<size_t>(task.x_end - task.x), y_left = static_cast<size_t>(task.y_end - task.y);
  size_t windows = task.windows;
  for (; windows > 0; --windows) {
    const size_t w = windows - 1;
    if (w * task.window_stride + reach + whole <= x_left && w * task.channels + whole <= y_left) break;
  }
  if (task.rows == 2 && task.columns == 2) max_whole<2, 2>(task, windows);
  else max_whole<0, 0>(task, windows);
  for (size_t w = windows; w < task.windows; ++w) {
    for (size_t c = 0; c < task.channels; ++c) {
      const int8_t* const x = task.x + w * task.window_stride + c;
      int8_t most = *x;
      for (size_t i = 0; i < task.rows; ++i) {
        for (size_t j = 0; j < task.columns; ++j) most = std::max(most, x[i * task.row_stride + j * task.channels]);
      }
      task.y[w * task.channels + c] = most;
    }
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
