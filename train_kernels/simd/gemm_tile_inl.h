// How a tile of a matrix product stores its sums. Compiled once per target.
#if defined(COTERIE_TRAIN_KERNELS_SIMD_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COTERIE_TRAIN_KERNELS_SIMD_GEMM_TILE_INL_H_
#undef COTERIE_TRAIN_KERNELS_SIMD_GEMM_TILE_INL_H_
#else
#define COTERIE_TRAIN_KERNELS_SIMD_GEMM_TILE_INL_H_
#endif

#include "train_kernels/simd/bounds_inl.h"
#include "train_kernels/simd/gemm_inl.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {

// Up to kNv vectors of neighbouring floats, the last of them cut to `last` lanes if kPartial.
template <size_t kNv, bool kPartial>
struct Strip {
  explicit Strip(size_t last_lanes) : last(last_lanes) {}

  HWY_INLINE Vector load(const float* p, size_t v) const {
    return kPartial && v + 1 == kNv ? last.load(p + v * kLanes) : hn::LoadU(Tag(), p + v * kLanes);
  }
  HWY_INLINE void store(Vector value, float* p, size_t v) const {
    if (kPartial && v + 1 == kNv) last.store(value, p + v * kLanes);
    else hn::StoreU(value, Tag(), p + v * kLanes);
  }
  Part last;
};

// Stores a tile's sums: from row c_row and this column of C on.
template <size_t kMr, size_t kNv, bool kPartial>
HWY_INLINE void finish_tile(Vector (&sums)[kMr][kNv], const Strip<kNv, kPartial>& strip, const Finish& finish,
                            const MatrixC& c, size_t c_row, size_t column) {
  if (finish.scale != 1) {
    const Vector scale = hn::Set(Tag(), finish.scale);
    COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
      COT_UNROLL for (size_t v = 0; v < kNv; ++v) sums[r][v] = hn::Mul(sums[r][v], scale);
    }
  }
  if (finish.bias != nullptr) {
    COT_UNROLL for (size_t v = 0; v < kNv; ++v) {
      const Vector bias = strip.load(finish.bias + column, v);
      COT_UNROLL for (size_t r = 0; r < kMr; ++r) sums[r][v] = hn::Add(sums[r][v], bias);
    }
  }
  const Bounds bounds(finish.activation);
  if (finish.accumulate) {
    // Row by row: rows of C may overlap (dX of a convolution), so each is stored before the next is read.
    COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
      float* to = c.base + c.rows.offset(c_row + r) + column;
      COT_UNROLL for (size_t v = 0; v < kNv; ++v) {
        strip.store(bounds(hn::Add(strip.load(to, v), sums[r][v])), to, v);
      }
    }
  } else {
    COT_UNROLL for (size_t r = 0; r < kMr; ++r) {
      float* to = c.base + c.rows.offset(c_row + r) + column;
      COT_UNROLL for (size_t v = 0; v < kNv; ++v) strip.store(bounds(sums[r][v]), to, v);
    }
  }
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
