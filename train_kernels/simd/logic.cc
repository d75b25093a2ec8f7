// Choosing, comparing, truth values and conversions. Contracts: tables/logic.h. The loops over rows are
// plain: what feeds them is integers, and no network spends its time here.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/logic.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/reference/logic.h"
#include "train_kernels/simd/strided_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/logic.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

struct WhereRow {
  const WhereLoops& loops;
  const int32_t* condition;
  const float *a, *b;
  float* y;
  HWY_INLINE void operator()(const std::array<ptrdiff_t, 4>& at) const {
    const size_t last = loops.rank - 1;
    for (size_t i = 0; i < loops.size[last]; ++i) {
      const ptrdiff_t step = static_cast<ptrdiff_t>(i);
      const float from_a = a[at[1] + step * loops.stride[1][last]], from_b = b[at[2] + step * loops.stride[2][last]];
      y[at[3] + step] = condition[at[0] + step * loops.stride[0][last]] != 0 ? from_a : from_b;
    }
  }
};

// All operands have the shape of y, [loops.size]; one that is broadcast has stride 0 there.
void where_forward(const WhereLoops& loops, const int32_t* condition, const float* a, const float* b, float* y) {
  for_each_row(loops, WhereRow{loops, condition, a, b, y});
}

struct WhereSource {
  const WhereLoops& loops;
  const int32_t* condition;
  const float* dy;
  bool if_true;
  HWY_INLINE const float* operator()(const std::array<ptrdiff_t, 4>& at, size_t rows, size_t row_dim, size_t n,
                                     float* buffer, ptrdiff_t* step) const {
    *step = static_cast<ptrdiff_t>(n);
    const ptrdiff_t condition_step = loops.stride[0][loops.rank - 1];
    for (size_t r = 0; r < rows; ++r) {
      const ptrdiff_t row = static_cast<ptrdiff_t>(r);
      const int32_t* when = condition + at[0] + row * loops.stride[0][row_dim];
      const float* from = dy + at[3] + row * loops.stride[3][row_dim];
      for (size_t i = 0; i < n; ++i) {
        // An element that was not chosen has the gradient 0, not none: it is summed where the operand was broadcast.
        const bool holds = when[static_cast<ptrdiff_t>(i) * condition_step] != 0;
        buffer[r * n + i] = holds == if_true ? from[i] : 0;
      }
    }
    return buffer;
  }
};

void where_backward(const WhereLoops& loops, size_t operand, const int32_t* condition, const float* dy,
                    float* gradient) {
  strided_sum(loops, operand, WhereSource{loops, condition, dy, operand == 1}, FinishSum(), gradient);
}

// y = holds(a, b) over one row.
template <class Holds, typename T>
struct TruthRow {
  const BinaryLoops& loops;
  const T *a, *b;
  int32_t* y;
  HWY_INLINE void operator()(const std::array<ptrdiff_t, 3>& at) const {
    const size_t last = loops.rank - 1;
    for (size_t i = 0; i < loops.size[last]; ++i) {
      const ptrdiff_t step = static_cast<ptrdiff_t>(i);
      const T left = a[at[0] + step * loops.stride[0][last]], right = b[at[1] + step * loops.stride[1][last]];
      y[at[2] + step] = Holds::of(left, right) ? 1 : 0;
    }
  }
};

template <class Holds, typename T>
void truth(const BinaryLoops& loops, const T* a, const T* b, int32_t* y) {
  for_each_row(loops, TruthRow<Holds, T>{loops, a, b, y});
}

struct Equal {
  static HWY_INLINE bool of(float a, float b) { return a == b; }
};
struct Less {
  static HWY_INLINE bool of(float a, float b) { return a < b; }
};
struct LessOrEqual {
  static HWY_INLINE bool of(float a, float b) { return a <= b; }
};
struct Greater {
  static HWY_INLINE bool of(float a, float b) { return a > b; }
};
struct GreaterOrEqual {
  static HWY_INLINE bool of(float a, float b) { return a >= b; }
};
struct Conjunction {
  static HWY_INLINE bool of(int32_t a, int32_t b) { return a != 0 && b != 0; }
};
struct Disjunction {
  static HWY_INLINE bool of(int32_t a, int32_t b) { return a != 0 || b != 0; }
};
struct Exclusive {
  static HWY_INLINE bool of(int32_t a, int32_t b) { return (a != 0) != (b != 0); }
};

void compare(Comparison kind, const BinaryLoops& loops, const float* a, const float* b, int32_t* y) {
  switch (kind) {
    case Comparison::equal: return truth<Equal>(loops, a, b, y);
    case Comparison::less: return truth<Less>(loops, a, b, y);
    case Comparison::less_or_equal: return truth<LessOrEqual>(loops, a, b, y);
    case Comparison::greater: return truth<Greater>(loops, a, b, y);
    case Comparison::greater_or_equal: return truth<GreaterOrEqual>(loops, a, b, y);
  }
}

void logical(Logical kind, const BinaryLoops& loops, const int32_t* a, const int32_t* b, int32_t* y) {
  switch (kind) {
    case Logical::conjunction: return truth<Conjunction>(loops, a, b, y);
    case Logical::disjunction: return truth<Disjunction>(loops, a, b, y);
    case Logical::exclusive: return truth<Exclusive>(loops, a, b, y);
  }
}

}  // namespace

void fill_logic_target(LogicKernels<float>& table) {
  COT_SET(where_forward, where_forward);
  COT_SET(where_backward, where_backward);
  COT_SET(compare, compare);
  COT_SET(logical, logical);
  COT_SET(logical_not, reference::logical_not);
  COT_SET(to_int32, reference::to_int32<float>);
  COT_SET(from_int32, reference::from_int32<float>);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(logic, LogicKernels)
}  // namespace coterie::kernels::simd
#endif
