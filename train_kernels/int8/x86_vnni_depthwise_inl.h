// Depthwise convolutions whose lanes are four pixels of a column, behind vector_kernels_inl.h in the namespace of
// x86_vnni.cc. A lane is made where it is multiplied: bytes of four rows are interleaved by unpacking, 64 of each at
// once, which are four times sixteen channels (DepthwiseRows).

COT_TARGET inline __m128i load_quarter(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
COT_TARGET inline __m256i load_two(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

template <Quarters kLie>
COT_TARGET inline Ints load_quarters(const uint8_t* from, const std::array<size_t, kQuarters>& at) {
  if constexpr (kLie == Quarters::together) {
    return load_ints(from);
  } else if constexpr (kLie == Quarters::every_second) {
    const Ints next = load_ints(from + kQuarters * kQuarterChannels);
    return _mm512_shuffle_i32x4(load_ints(from), next, _MM_SHUFFLE(2, 0, 2, 0));
  } else if constexpr (kLie == Quarters::in_pairs) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(load_two(from)), load_two(from + at[2]), 1);
  } else {
    Ints all = _mm512_castsi128_si512(load_quarter(from));
    all = _mm512_inserti32x4(all, load_quarter(from + at[1]), 1);
    all = _mm512_inserti32x4(all, load_quarter(from + at[2]), 2);
    return _mm512_inserti32x4(all, load_quarter(from + at[3]), 3);
  }
}

// `window` is where that of the first quarter begins.
template <Quarters kLie>
COT_TARGET inline Ints depthwise_quarters(const DepthwiseRowsTask& task, const Bounds& bounds, const uint8_t* window,
                                          const uint8_t* weights) {
  const Conv2dShape& s = *task.shape;
  const size_t below = s.padded_w() * s.channels;
  Ints sums[kQuarters];
  COT_UNROLL
  for (size_t q = 0; q < kQuarters; ++q) sums[q] = load_ints(task.bias + q * kLanes);
  for (size_t top = 0; top < s.kernel_h; top += kLaneElements, window += kLaneElements * below) {
    const size_t rows = std::min(s.kernel_h - top, kLaneElements);
    const uint8_t* from = window;
    for (size_t kw = 0; kw < s.kernel_w; ++kw, from += s.channels, weights += kQuarters * kLanes * kLaneBytes) {
      // A row that is not there has the weight 0: any other stands for it.
      const Ints a = load_quarters<kLie>(from, task.at), b = rows > 1 ? load_quarters<kLie>(from + below, task.at) : a,
                 c = rows > 2 ? load_quarters<kLie>(from + 2 * below, task.at) : a,
                 d = rows > 3 ? load_quarters<kLie>(from + 3 * below, task.at) : a;
      const Ints low_ab = _mm512_unpacklo_epi8(a, b), high_ab = _mm512_unpackhi_epi8(a, b),
                 low_cd = _mm512_unpacklo_epi8(c, d), high_cd = _mm512_unpackhi_epi8(c, d);
      const Ints lanes[kQuarters] = {_mm512_unpacklo_epi16(low_ab, low_cd), _mm512_unpackhi_epi16(low_ab, low_cd),
                                     _mm512_unpacklo_epi16(high_ab, high_cd), _mm512_unpackhi_epi16(high_ab, high_cd)};
      COT_UNROLL
      for (size_t q = 0; q < kQuarters; ++q) {
        sums[q] = dot(sums[q], lanes[q], load_ints(weights + q * kLanes * kLaneBytes));
      }
    }
  }
  Floats scaled[kQuarters];
  COT_UNROLL
  for (size_t q = 0; q < kQuarters; ++q) {
    scaled[q] = multiply(to_floats(sums[q]), load_floats(task.multipliers + q * kLanes));
  }
  return packed_bytes(scaled, bounds);
}

template <Quarters kLie>
COT_TARGET void depthwise_rows_by(const DepthwiseRowsTask& task) {
  const Conv2dShape& s = *task.shape;
  const Bounds bounds = bounds_of(task.to);
  for (size_t i = 0; i < s.out_h(); ++i) {
    const uint8_t* const row = task.image + i * s.stride_h * s.padded_w() * s.channels;
    for (size_t j = 0; j < s.out_w();) {
      const Ints bytes = depthwise_quarters<kLie>(task, bounds, row + j * s.stride_w * s.channels, task.weights);
      int8_t* const y = task.y + (i * s.out_w() + j) * s.channels;
      const size_t pixels = std::min(task.pixels, s.out_w() - j);
      j += pixels;
      if (task.is_whole && pixels == task.pixels) {
        store_ints(y, bytes);
        continue;
      }
      alignas(64) int8_t some[kQuarters * kQuarterChannels];
      store_ints(some, bytes);
      for (size_t q = 0; q < kQuarters * pixels / task.pixels; ++q) {
        _mm_mask_storeu_epi8(y + task.y_at[q], first(task.channels[q]), load_bytes(some + q * kQuarterChannels));
      }
    }
  }
}

void depthwise_rows(const DepthwiseRowsTask& task) {
  switch (task.quarters) {
    case Quarters::together: return depthwise_rows_by<Quarters::together>(task);
    case Quarters::every_second: return depthwise_rows_by<Quarters::every_second>(task);
    case Quarters::in_pairs: return depthwise_rows_by<Quarters::in_pairs>(task);
    case Quarters::apart: return depthwise_rows_by<Quarters::apart>(task);
  }
}
