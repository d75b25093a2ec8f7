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

// What four rows of a column add to the sums.
COT_TARGET inline void add_column(const Ints& a, const Ints& b, const Ints& c, const Ints& d,
                                  const Ints (&weights)[kQuarters], Ints (&sums)[kQuarters]) {
  const Ints low_ab = _mm512_unpacklo_epi8(a, b), high_ab = _mm512_unpackhi_epi8(a, b),
             low_cd = _mm512_unpacklo_epi8(c, d), high_cd = _mm512_unpackhi_epi8(c, d);
  sums[0] = dot(sums[0], _mm512_unpacklo_epi16(low_ab, low_cd), weights[0]);
  sums[1] = dot(sums[1], _mm512_unpackhi_epi16(low_ab, low_cd), weights[1]);
  sums[2] = dot(sums[2], _mm512_unpacklo_epi16(high_ab, high_cd), weights[2]);
  sums[3] = dot(sums[3], _mm512_unpackhi_epi16(high_ab, high_cd), weights[3]);
}

COT_TARGET inline void load_four(const void* from, Ints (&to)[kQuarters]) {
  COT_UNROLL
  for (size_t q = 0; q < kQuarters; ++q) to[q] = load_ints(static_cast<const uint8_t*>(from) + q * kLanes * kLaneBytes);
}

COT_TARGET inline Ints rounded_quarters(const Ints (&sums)[kQuarters], const float* multipliers, const Bounds& bounds) {
  Floats scaled[kQuarters];
  COT_UNROLL
  for (size_t q = 0; q < kQuarters; ++q) {
    scaled[q] = multiply(to_floats(sums[q]), load_floats(multipliers + q * kLanes));
  }
  return packed_bytes(scaled, bounds);
}

// Any kernel. `window` is where that of the first quarter begins.
template <Quarters kLie>
struct AnyKernel {
  const DepthwiseRowsTask& task;
  Bounds bounds;
  COT_TARGET explicit AnyKernel(const DepthwiseRowsTask& of) : task(of), bounds(bounds_of(of.to)) {}

  COT_TARGET inline Ints operator()(const uint8_t* window) const {
    const Conv2dShape& s = *task.shape;
    const size_t below = s.padded_w() * s.channels;
    const uint8_t* weights = task.weights;
    Ints sums[kQuarters];
    load_four(task.bias, sums);
    for (size_t top = 0; top < s.kernel_h; top += kLaneElements, window += kLaneElements * below) {
      const size_t rows = std::min(s.kernel_h - top, kLaneElements);
      const uint8_t* from = window;
      for (size_t kw = 0; kw < s.kernel_w; ++kw, from += s.channels, weights += kQuarters * kLanes * kLaneBytes) {
        // A row that is not there has the weight 0: any other stands for it.
        const Ints a = load_quarters<kLie>(from, task.at),
                   b = rows > 1 ? load_quarters<kLie>(from + below, task.at) : a,
                   c = rows > 2 ? load_quarters<kLie>(from + 2 * below, task.at) : a,
                   d = rows > 3 ? load_quarters<kLie>(from + 3 * below, task.at) : a;
        Ints taps[kQuarters];
        load_four(weights, taps);
        add_column(a, b, c, d, taps, sums);
      }
    }
    return rounded_quarters(sums, task.multipliers, bounds);
  }
};

// Three by three, as most are: its weights stay in registers.
template <Quarters kLie>
struct ThreeByThree {
  const DepthwiseRowsTask& task;
  Bounds bounds;
  Ints weights[3][kQuarters], bias[kQuarters];
  COT_TARGET explicit ThreeByThree(const DepthwiseRowsTask& of) : task(of), bounds(bounds_of(of.to)) {
    COT_UNROLL
    for (size_t kw = 0; kw < 3; ++kw) load_four(of.weights + kw * kQuarters * kLanes * kLaneBytes, weights[kw]);
    load_four(of.bias, bias);
  }

  COT_TARGET inline Ints operator()(const uint8_t* window) const {
    const Conv2dShape& s = *task.shape;
    const size_t below = s.padded_w() * s.channels;
    Ints sums[kQuarters] = {bias[0], bias[1], bias[2], bias[3]};
    COT_UNROLL
    for (size_t kw = 0; kw < 3; ++kw) {
      const uint8_t* const from = window + kw * s.channels;
      const Ints a = load_quarters<kLie>(from, task.at), b = load_quarters<kLie>(from + below, task.at),
                 c = load_quarters<kLie>(from + 2 * below, task.at);
      add_column(a, b, c, a, weights[kw], sums);  // a fourth row has the weight 0
    }
    return rounded_quarters(sums, task.multipliers, bounds);
  }
};

template <typename Kernel>
COT_TARGET void depthwise_rows_by(const DepthwiseRowsTask& task) {
  const Conv2dShape& s = *task.shape;
  const Kernel kernel(task);
  for (size_t i = 0; i < s.out_h(); ++i) {
    const uint8_t* const row = task.image + i * s.stride_h * s.padded_w() * s.channels;
    for (size_t j = 0; j < s.out_w();) {
      const Ints bytes = kernel(row + j * s.stride_w * s.channels);
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

template <Quarters kLie>
void depthwise_rows_by(const DepthwiseRowsTask& task) {
  const bool is_three = task.shape->kernel_h == 3 && task.shape->kernel_w == 3;
  if (is_three) depthwise_rows_by<ThreeByThree<kLie>>(task);
  else depthwise_rows_by<AnyKernel<kLie>>(task);
}

void depthwise_rows(const DepthwiseRowsTask& task) {
  switch (task.quarters) {
    case Quarters::together: return depthwise_rows_by<Quarters::together>(task);
    case Quarters::every_second: return depthwise_rows_by<Quarters::every_second>(task);
    case Quarters::in_pairs: return depthwise_rows_by<Quarters::in_pairs>(task);
    case Quarters::apart: return depthwise_rows_by<Quarters::apart>(task);
  }
}
