// Convolutions whose last outputs fill half a vector or less: they are computed as 256 bits, two of which a core adds
// up in the time of 512. Behind vector_tiles_inl.h in the namespace of x86_vnni.cc.

constexpr size_t kHalfLanes = kLanes / 2, kHalfRows = 8;

COT_TARGET inline __m256i load_half(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

// Two instructions read it: as an int it would go by a register of the core, and from there into the vector.
COT_TARGET inline Ints lane_in_all(const uint8_t* from) {
  return _mm512_castps_si512(_mm512_broadcastss_ps(_mm_castsi128_ps(_mm_loadu_si32(from))));
}

// Sums of two pixels: the first n of each half.
COT_TARGET inline void store_halves(Ints sums, Floats multipliers, const Bounds& bounds, int8_t* first_y,
                                    int8_t* second_y, size_t n) {
  Floats v = multiply(to_floats(sums), multipliers);
  v = _mm512_min_ps(_mm512_max_ps(v, bounds.low), bounds.high);
  const Ints whole = _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const Bytes bytes = _mm512_cvtepi32_epi8(_mm512_add_epi32(whole, bounds.zero));
  _mm_mask_storeu_epi8(first_y, first(n), bytes);
  _mm_mask_storeu_epi8(second_y, first(n), _mm_unpackhi_epi64(bytes, bytes));
}

// As tile(), of kWhole vectors of outputs from `output` on, and a half one.
template <size_t kRows, size_t kWhole>
COT_TARGET void half_tile(const ConvolutionTask& task, size_t pixel, size_t end, size_t output) {
  const size_t vector_bytes = kLanes * kLaneBytes, column_bytes = task.lane_count * vector_bytes;
  const size_t last = output + kWhole * kLanes, left = task.outputs - last;
  const Bounds bounds = bounds_of(task.to);
  const Floats multipliers = load_floats(task.multipliers + output);
  const Floats twice = _mm512_broadcast_f32x8(_mm256_loadu_ps(task.multipliers + last));
  do {
    Ints sums[kRows];
    __m256i halves[kRows];
    const uint8_t* windows[kRows];
    COT_UNROLL
    for (size_t r = 0; r < kRows; ++r) {
      windows[r] = task.image + task.pixels[pixel + r];
      if (kWhole > 0) sums[r] = load_ints(task.bias + output);
      halves[r] = load_half(task.bias + last);
    }
    const uint8_t* weights = task.weights + output / kLanes * column_bytes;
    for (size_t l = 0; l < task.lane_count; ++l, weights += vector_bytes) {
      const size_t at = task.lanes[l];
      const __m256i half = load_half(weights + kWhole * column_bytes);
      COT_UNROLL
      for (size_t r = 0; r < kRows; ++r) {
        const Ints lane = lane_in_all(windows[r] + at);
        if (kWhole > 0) sums[r] = dot(sums[r], lane, load_ints(weights));
        halves[r] = _mm256_dpbusd_epi32(halves[r], _mm512_castsi512_si256(lane), half);
      }
    }
    int8_t* const y = task.y + pixel * task.y_stride + output;
    if (kWhole > 0) {
      Floats column[kRows];
      COT_UNROLL
      for (size_t r = 0; r < kRows; ++r) column[r] = multiply(to_floats(sums[r]), multipliers);
      store_vectors(column, bounds, y, task.y_stride, kLanes);
    }
    COT_UNROLL
    for (size_t r = 0; r < kRows; r += 2) {
      const size_t next = std::min(r + 1, kRows - 1);
      const Ints pair = _mm512_inserti64x4(_mm512_castsi256_si512(halves[r]), halves[next], 1);
      int8_t* const to = y + kWhole * kLanes;
      store_halves(pair, twice, bounds, to + r * task.y_stride, to + next * task.y_stride, left);
    }
    pixel += kRows;
  } while (kRows == kHalfRows && pixel + kRows <= end);
}

template <size_t kWhole, size_t... kIndex>
constexpr std::array<Tile, sizeof...(kIndex)> half_tiles(std::index_sequence<kIndex...>) {
  return {half_tile<kIndex + 1, kWhole>...};
}
constexpr std::array<Tile, kHalfRows> kHalfTiles[] = {half_tiles<0>(std::make_index_sequence<kHalfRows>()),
                                                      half_tiles<1>(std::make_index_sequence<kHalfRows>())};

// Where there are fewer pixels than a tile has, more columns at once hide the latency of an addition better.
void convolve_by_halves(const ConvolutionTask& task) {
  const size_t beyond = task.outputs % kLanes;
  if (beyond == 0 || beyond > kHalfLanes || task.pixel_count < kHalfRows) return convolve(task);
  const size_t whole = task.outputs >= kLanes ? 1 : 0, output = task.outputs - beyond - whole * kLanes;
  if (output > 0) {
    ConvolutionTask before = task;
    before.outputs = output;
    convolve(before);
  }
  const size_t rest = task.pixel_count % kHalfRows, many = task.pixel_count - rest;
  kHalfTiles[whole][kHalfRows - 1](task, 0, many, output);
  if (rest > 0) kHalfTiles[whole][rest - 1](task, many, task.pixel_count, output);
}
