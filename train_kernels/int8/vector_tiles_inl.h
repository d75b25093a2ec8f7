// Convolutions by the dot product of lanes, behind vector_kernels_inl.h in the same namespace, which has defined before
//
//   kTileRows, kTileColumns    sums of how many pixels, and of how many vectors of outputs, are added up at once
//   kTileSums                  how many of them stay in registers

constexpr size_t rows_beside(size_t columns) { return std::min(kTileRows, kTileSums / columns); }

// A tile of few columns takes a lane's place from the list, for the sake of segments of a few lanes: eight addresses a
// segment are as dear as its products. One of more columns has products enough, and no load to spare.
constexpr size_t kColumnsByLanes = 2;

template <size_t kRows, size_t kColumns>
COT_TARGET inline void add_lane(const uint8_t* const (&windows)[kRows], size_t at, const uint8_t* weights,
                                size_t column_bytes, Ints (&sums)[kRows][kColumns]) {
  Ints columns[kColumns];
  COT_UNROLL
  for (size_t c = 0; c < kColumns; ++c) columns[c] = load_ints(weights + c * column_bytes);
  COT_UNROLL
  for (size_t r = 0; r < kRows; ++r) {
    const Ints lane = splat_ints(lane_at(windows[r] + at));
    COT_UNROLL
    for (size_t c = 0; c < kColumns; ++c) sums[r][c] = dot(sums[r][c], lane, columns[c]);
  }
}

// kRows pixels at once, from `pixel` on; the largest tile again and again, as long as there are so many before `end`.
template <size_t kRows, size_t kColumns>
COT_TARGET void tile(const ConvolutionTask& task, size_t pixel, size_t end, size_t output) {
  const size_t vector_bytes = kLanes * kLaneBytes, column_bytes = task.lane_count * vector_bytes;
  const Bounds bounds = bounds_of(task.to);
  const size_t left = task.outputs - output;
  do {
    Ints sums[kRows][kColumns];
    const uint8_t* windows[kRows];
    COT_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      windows[r] = task.image + task.pixels[pixel + r];
      COT_UNROLL
      for (size_t c = 0; c < kColumns; ++c) sums[r][c] = load_ints(task.bias + output + c * kLanes);
    }
    const uint8_t* weights = task.weights + output / kLanes * column_bytes;
    if (kColumns <= kColumnsByLanes) {
      for (size_t l = 0; l < task.lane_count; ++l, weights += vector_bytes) {
        add_lane<kRows, kColumns>(windows, task.lanes[l], weights, column_bytes, sums);
      }
    } else {
      for (size_t s = 0; s < task.segment_count; ++s) {
        const size_t begin = task.segments[s];
        for (size_t b = 0; b < task.segment_bytes; b += kLaneBytes, weights += vector_bytes) {
          add_lane<kRows, kColumns>(windows, begin + b, weights, column_bytes, sums);
        }
      }
    }
    int8_t* const y = task.y + pixel * task.y_stride + output;
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
    } else {
      COT_UNROLL
      for (size_t c = 0; c < kColumns; ++c) {
        const Floats multipliers = load_floats(task.multipliers + output + c * kLanes);
        Floats column[kRows];
        COT_UNROLL
        for (size_t r = 0; r < kRows; ++r) column[r] = multiply(to_floats(sums[r][c]), multipliers);
        store_vectors(column, bounds, y + c * kLanes, task.y_stride, std::min(left - c * kLanes, kLanes));
      }
    }
    pixel += kRows;
  } while (kRows == rows_beside(kColumns) && pixel + kRows <= end);
}

using Tile = void (*)(const ConvolutionTask&, size_t, size_t, size_t);
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
    const size_t rows = rows_beside(columns), whole = task.pixel_count / rows * rows, left = task.pixel_count - whole;
    if (whole > 0) kTiles[(rows - 1) * kTileColumns + columns - 1](task, 0, whole, v * kLanes);
    if (left > 0) kTiles[(left - 1) * kTileColumns + columns - 1](task, whole, task.pixel_count, v * kLanes);
  }
}
