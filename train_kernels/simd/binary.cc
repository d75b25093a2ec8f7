// Functions of two variables. Contracts: tables/binary.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/binary.cc"
#include "hwy/foreach_target.h"

#include <cmath>

#include "train_kernels/reference/binary.h"
#include "train_kernels/simd/strided_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/binary.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

// y = op(a, b) over one row.
template <class Op>
struct BinaryRow {
  RowInput a, b;
  float* y;
  HWY_INLINE BinaryRow(RowInput left, RowInput right, float* to) : a(left), b(right), y(to) {}
  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    lanes.store(Op()(a.load(i, lanes), b.load(i, lanes)), y + i);
  }
};

template <class Op>
struct BinaryRows {
  const BinaryLoops& loops;
  const float *a, *b;
  float* y;
  HWY_INLINE void operator()(const std::array<ptrdiff_t, 3>& at) const {
    const size_t last = loops.rank - 1;
    const RowInput left{a + at[0], loops.stride[0][last] == 0}, right{b + at[1], loops.stride[1][last] == 0};
    for_each_vector(loops.size[last], BinaryRow<Op>(left, right, y + at[2]));
  }
};

struct Add {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Add(a, b); }
};
struct Sub {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Sub(a, b); }
};
struct Mul {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Mul(a, b); }
};
struct Div {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Div(a, b); }
};
struct Minimum {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::IfThenElse(hn::Lt(b, a), b, a); }
};
struct Maximum {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::IfThenElse(hn::Gt(b, a), b, a); }
};
// Lane by lane with C's powf: e^(b log a) in float would be wrong by up to 100 units in the last place.
struct Pow {
  HWY_INLINE Vector operator()(Vector a, Vector b) const {
    const Tag d;
    HWY_ALIGN float base[kLanes], exponent[kLanes];
    hn::Store(a, d, base);
    hn::Store(b, d, exponent);
    for (size_t i = 0; i < kLanes; ++i) base[i] = std::pow(base[i], exponent[i]);
    return hn::Load(d, base);
  }
};
struct Square {
  HWY_INLINE Vector operator()(Vector a, Vector) const { return hn::Mul(a, a); }
};

template <class Op>
void forward(const BinaryLoops& loops, const float* a, const float* b, float* y) {
  for_each_row(loops, BinaryRows<Op>{loops, a, b, y});
}

// y: [loops.size]; a and b the same, with stride 0 where they are broadcast.
void binary_forward(Binary kind, const BinaryLoops& loops, const float* a, const float* b, float* y) {
#define COT_CASE(kind, Op)                                \
  case Binary::kind:                                      \
    if (!is_in_build("Binary::" #kind)) __builtin_trap(); \
    return forward<Op>(loops, a, b, y);
  // The power that networks have: a multiply in the place of a call of powf for each lane.
  if (kind == Binary::pow && is_in_build("Binary::pow") && loops.rank == 1 && loops.stride[1][0] == 0 && *b == 2) {
    return forward<Square>(loops, a, b, y);
  }
  switch (kind) {
    COT_CASE(add, Add)
    COT_CASE(sub, Sub)
    COT_CASE(mul, Mul)
    COT_CASE(div, Div)
    COT_CASE(pow, Pow)
    COT_CASE(minimum, Minimum)
    COT_CASE(maximum, Maximum)
  }
#undef COT_CASE
}

// dy times the derivative: op(a, b, dy).
struct GradientSame {
  HWY_INLINE Vector operator()(Vector, Vector, Vector dy) const { return dy; }
};
struct GradientNegated {
  HWY_INLINE Vector operator()(Vector, Vector, Vector dy) const { return hn::Neg(dy); }
};
struct GradientTimesA {
  HWY_INLINE Vector operator()(Vector a, Vector, Vector dy) const { return hn::Mul(dy, a); }
};
struct GradientTimesB {
  HWY_INLINE Vector operator()(Vector, Vector b, Vector dy) const { return hn::Mul(dy, b); }
};
struct GradientOfDividend {
  HWY_INLINE Vector operator()(Vector, Vector b, Vector dy) const { return hn::Div(dy, b); }
};
struct GradientOfDivisor {
  HWY_INLINE Vector operator()(Vector a, Vector b, Vector dy) const {
    // Not dy a / b^2: the square of a small b would be 0, and that of a large one infinite.
    return hn::Neg(hn::Div(hn::Mul(dy, hn::Div(a, b)), b));
  }
};
// The gradient of the smaller, or of the larger, of first and second by the first.
HWY_INLINE Vector chosen(Vector smaller, Vector larger, Vector dy) {
  // Where both are equal each gets half, as in PyTorch: any share is a subgradient, and this one is symmetric.
  const Vector half = hn::Mul(splat(0.5f), dy);
  return hn::IfThenElse(hn::Eq(smaller, larger), half, hn::IfThenElseZero(hn::Lt(smaller, larger), dy));
}
struct GradientIfLess {
  HWY_INLINE Vector operator()(Vector a, Vector b, Vector dy) const { return chosen(a, b, dy); }
};
struct GradientIfGreater {
  HWY_INLINE Vector operator()(Vector a, Vector b, Vector dy) const { return chosen(b, a, dy); }
};
template <size_t kOperand>
struct GradientOfPow {
  HWY_INLINE Vector operator()(Vector a, Vector b, Vector dy) const {
    const Tag d;
    HWY_ALIGN float base[kLanes], exponent[kLanes];
    hn::Store(a, d, base);
    hn::Store(b, d, exponent);
    for (size_t i = 0; i < kLanes; ++i) {
      base[i] = reference::binary_slope(Binary::pow, kOperand, base[i], exponent[i]);
    }
    return hn::Mul(dy, hn::Load(d, base));
  }
};

template <class Op>
struct GradientRow {
  RowInput a, b;
  const float* dy;
  float* to;
  template <class Lanes>
  HWY_INLINE void operator()(size_t i, const Lanes& lanes) const {
    lanes.store(Op()(a.load(i, lanes), b.load(i, lanes), lanes.load(dy + i)), to + i);
  }
};

template <class Op>
struct GradientSource {
  const BinaryLoops& loops;
  const float *a, *b, *dy;

  HWY_INLINE RowInput input(const float* p, size_t operand, const std::array<ptrdiff_t, 3>& at) const {
    return {p == nullptr ? nullptr : p + at[operand], loops.stride[operand][loops.rank - 1] == 0};
  }
  HWY_INLINE const float* operator()(std::array<ptrdiff_t, 3> at, size_t rows, size_t row_dim, size_t n, float* buffer,
                                     ptrdiff_t* step) const {
    *step = static_cast<ptrdiff_t>(n);
    for (size_t r = 0; r < rows; ++r) {
      for_each_vector(n, GradientRow<Op>{input(a, 0, at), input(b, 1, at), dy + at[2], buffer + r * n});
      for (size_t k = 0; k < 3; ++k) at[k] += loops.stride[k][row_dim];
    }
    return buffer;
  }
};

template <class Op>
struct GradientRows {
  const GradientSource<Op>& source;
  size_t operand;
  float* gradient;
  HWY_INLINE void operator()(const std::array<ptrdiff_t, 3>& at) const {
    ptrdiff_t unused;
    const size_t last = source.loops.rank - 1;
    source(at, 1, last, source.loops.size[last], gradient + at[operand], &unused);
  }
};

template <class Op>
void backward(size_t operand, const BinaryLoops& loops, const float* a, const float* b, const float* dy,
              float* gradient) {
  const GradientSource<Op> source{loops, a, b, dy};
  bool is_broadcast = false;
  for (size_t d = 0; d < loops.rank; ++d) is_broadcast |= loops.stride[operand][d] == 0;
  // An element that was read many times has the sum of as many gradients.
  if (is_broadcast) return strided_sum(loops, operand, source, FinishSum(), gradient);
  for_each_row(loops, GradientRows<Op>{source, operand, gradient});
}

// dy: [loops.size]; gradient: the shape of that operand, so it is summed over the dimensions of stride 0.
void binary_backward(Binary kind, size_t operand, const BinaryLoops& loops, const float* a, const float* b,
                     const float* dy, float* gradient) {
  using Body = void (*)(size_t, const BinaryLoops&, const float*, const float*, const float*, float*);
#define COT_BODIES(kind, A, B) \
  { is_in_build("Binary::" #kind) ? backward<A> : nullptr, is_in_build("Binary::" #kind) ? backward<B> : nullptr }
  static constexpr Body kBodies[7][2] = {
      COT_BODIES(add, GradientSame, GradientSame),
      COT_BODIES(sub, GradientSame, GradientNegated),
      COT_BODIES(mul, GradientTimesB, GradientTimesA),
      COT_BODIES(div, GradientOfDividend, GradientOfDivisor),
      COT_BODIES(pow, GradientOfPow<0>, GradientOfPow<1>),
      COT_BODIES(minimum, GradientIfLess, GradientIfGreater),
      COT_BODIES(maximum, GradientIfGreater, GradientIfLess),
  };
#undef COT_BODIES
  const bool reads = kind != Binary::add && kind != Binary::sub;
  const float* left = reads && !(kind == Binary::mul && operand == 0) ? a : nullptr;
  const float* right = reads && !(kind == Binary::mul && operand == 1) ? b : nullptr;
  kBodies[static_cast<size_t>(kind)][operand](operand, loops, left, right, dy, gradient);
}

}  // namespace

void fill_binary_target(BinaryKernels<float>& table) {
  COT_SET(binary_forward, binary_forward);
  COT_SET(binary_backward, binary_backward);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(binary, BinaryKernels)
}  // namespace coterie::kernels::simd
#endif
