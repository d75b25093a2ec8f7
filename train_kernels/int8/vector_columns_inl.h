// Depthwise convolutions by lanes of neighbours to the right, behind vector_kernels_inl.h in the same namespace, which
// has defined before
//
//   push                       a lane one element on, with a new first one

// Row `row` of the padded image.
COT_TARGET inline void fill_columns(const DepthwiseTask& task, const DepthwiseColumns& columns, size_t row) {
  const Conv2dShape& s = *task.shape;
  const Ints padding = splat_ints(task.zero + task.move), move = splat_ints(task.move);
  uint32_t* const to = task.columns + row % s.kernel_h * columns.places * kLanes;
  Ints lanes = padding;
  for (size_t i = 1; i < kLaneElements; ++i) lanes = push(lanes, padding);
  const bool is_real = row >= s.pad_top && row < s.pad_top + s.height;
  // What is padding changes at two places: three loops would be no faster.
  const int8_t* const pixels = task.x + (is_real ? (row - s.pad_top) * s.width * s.channels : 0);
  size_t place = columns.places, until = (columns.places - 1) * columns.step;
  for (size_t j = s.padded_w(); j-- > 0;) {
    const bool is_inside = is_real && j >= s.pad_left && j < s.pad_left + s.width;
    lanes = push(lanes, is_inside ? add_ints(first_bytes(pixels + (j - s.pad_left) * s.channels, task.channels), move)
                                  : padding);
    if (j != until) continue;
    store_ints(to + --place * kLanes, lanes);
    until -= columns.step;
  }
}

// `windows`: of each row of the kernel, where it lies for the first of the pixels.
template <size_t kPixels>
COT_TARGET void depthwise_pixels(const DepthwiseTask& task, const Bounds& bounds, const DepthwiseColumns& columns,
                                 size_t row, size_t column, int8_t* y) {
  const Conv2dShape& s = *task.shape;
  const size_t places_apart = s.stride_w / columns.step;
  Ints sums[kPixels];
  COT_UNROLL
  for (size_t p = 0; p < kPixels; ++p) sums[p] = load_ints(task.bias);
  const uint8_t* weights = task.weights;
  size_t slot = row * s.stride_h % s.kernel_h;
  for (size_t kh = 0; kh < s.kernel_h; ++kh) {
    const uint32_t* const window = task.columns + (slot * columns.places + column * places_apart) * kLanes;
    slot = slot + 1 == s.kernel_h ? 0 : slot + 1;
    for (size_t kw = 0; kw < s.kernel_w; kw += kLaneElements, weights += kLanes * kLaneBytes) {
      const Ints taps = load_ints(weights);
      COT_UNROLL
      for (size_t p = 0; p < kPixels; ++p) {
        sums[p] = dot(sums[p], load_ints(window + (p * places_apart + kw) * kLanes), taps);
      }
    }
  }
  const Floats multipliers = load_floats(task.multipliers);
  Floats scaled[kPixels];
  COT_UNROLL
  for (size_t p = 0; p < kPixels; ++p) scaled[p] = multiply(to_floats(sums[p]), multipliers);
  store_vectors(scaled, bounds, y, s.channels, task.channels);
}

using DepthwisePixels = void (*)(const DepthwiseTask&, const Bounds&, const DepthwiseColumns&, size_t, size_t, int8_t*);
template <size_t... kIndex>
constexpr std::array<DepthwisePixels, sizeof...(kIndex)> depthwise_pixels_of(std::index_sequence<kIndex...>) {
  return {depthwise_pixels<kIndex + 1>...};
}
constexpr size_t kDepthwisePixels = 8;
constexpr auto kDepthwise = depthwise_pixels_of(std::make_index_sequence<kDepthwisePixels>());

COT_TARGET void depthwise(const DepthwiseTask& task) {
  const Conv2dShape& s = *task.shape;
  const Bounds bounds = bounds_of(task.to);
  const DepthwiseColumns columns = depthwise_columns(s, kLaneElements);
  size_t filled = 0;  // rows
  for (size_t i = 0; i < s.out_h(); ++i) {
    const size_t first = i * s.stride_h;
    for (filled = std::max(filled, first); filled < first + s.kernel_h; ++filled) fill_columns(task, columns, filled);
    int8_t* const row = task.y + i * s.out_w() * s.channels;
    for (size_t j = 0; j < s.out_w();) {
      const size_t pixels = std::min(kDepthwisePixels, s.out_w() - j);
      kDepthwise[pixels - 1](task, bounds, columns, i, j, row + j * s.channels);
      j += pixels;
    }
  }
}
