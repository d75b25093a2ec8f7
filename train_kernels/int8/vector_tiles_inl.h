// Convolutions by the dot product of lanes, behind vector_kernels_inl.h in the same namespace, which has defined before
//
//   kTileRows, kTileColumns    sums of how many pixels, and of how many vectors of outputs, are added up at once
//   kTileSums                  how many of them stay in registers

template <size_t kRows, size_t kColumns>
COT_TARGET void tile(const ConvolutionTask& task, size_t pixel, size_t output) {
  const size_t vector_bytes = kLanes * kLaneBytes, column_bytes = task.segment_count * task.segment_bytes * kLanes;
  Ints sums[kRows][kColumns];
  const uint8_t* windows[kRows];
  COT_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    windows[r] = task.image + task.pixels[pixel + r];
    COT_UNROLL
    for (size_t c = 0; c < kColumns; ++c) sums[r][c] = load_ints(task.bias + output + c * kLanes);
  }
  const uint8_t* weights = task.weights + output / kLanes * column_bytes;
  for (size_t s = 0; s < task.segment_count; ++s) {
    const size_t begin = task.segments[s];
    for (size_t b = 0; b < task.segment_bytes; b += kLaneBytes, weights += vector_bytes) {
      Ints columns[kColumns];
      COT_UNROLL
      for (size_t c = 0; c < kColumns; ++c) columns[c] = load_ints(weights + c * column_bytes);
      COT_UNROLL
      for (size_t r = 0; r < kRows; ++r) {
        const Ints lane = splat_ints(lane_at(windows[r] + begin + b));
        COT_UNROLL
        for (size_t c = 0; c < kColumns; ++c) sums[r][c] = dot(sums[r][c], lane, columns[c]);
      }
    }
  }
  const Bounds bounds = bounds_of(task.to);
  int8_t* const y = task.y + pixel * task.y_stride + output;
  const size_t left = task.outputs - output;
  if (kColumns % kTogether == 0 && left >= kColumns * kLanes) {
    Floats multipliers[kColumns];
    COT_UNROLL
    for (size_t c = 0; c < kColumns; ++c) multipliers[c] = load_floats(task.multipliers + output + c * kLanes);
    COT_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      Floats row[kColumns];
      COT_UNROLL
      for (size_t c = 0; c < kColumns; ++c) row[c] = multiply(to_floats(sums[r][c]), multipliers[c]);
      store_vectors(row, bounds, y + r * task.y_stride, kLanes, kLanes);
    }
    return;
  }
  COT_UNROLL
  for (size_t c = 0; c < kColumns; ++c) {
    const Floats multipliers = load_floats(task.multipliers + output + c * kLanes);
    Floats column[kRows];
    COT_UNROLL
    for (size_t r = 0; r < kRows; ++r) column[r] = multiply(to_floats(sums[r][c]), multipliers);
    store_vectors(column, bounds, y + c * kLanes, task.y_stride, std::min(left - c * kLanes, kLanes));
  }
}

constexpr size_t rows_beside(size_t columns) { return std::min(kTileRows, kTileSums / columns); }

using Tile = void (*)(const ConvolutionTask&, size_t, size_t);
template <size_t... kIndex>
constexpr std::array<Tile, sizeof...(kIndex)> tiles(std::index_sequence<kIndex...>) {
  // Those that would not stay in registers are not asked for.
  return {
      tile<std::min(kIndex / kTileColumns + 1, rows_beside(kIndex % kTileColumns + 1)), kIndex % kTileColumns + 1>...};
}
constexpr auto kTiles = tiles(std::make_index_sequence<kTileRows * kTileColumns>());

void convolve(const ConvolutionTask& task) {
  const size_t vectors = (task.outputs + kLanes - 1) / kLanes;
  for (size_t v = 0; v < vectors; v += kTileColumns) {
    const size_t columns = std::min(kTileColumns, vectors - v);
    for (size_t p = 0; p < task.pixel_count;) {
      const size_t rows = std::min(rows_beside(columns), task.pixel_count - p);
      kTiles[(rows - 1) * kTileColumns + columns - 1](task, p, v * kLanes);
      p += rows;
    }
  }
}
