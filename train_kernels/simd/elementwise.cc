// Element-wise kernels. Contracts: tables/elementwise.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train_kernels/simd/elementwise.cc"
#include "hwy/foreach_target.h"

#include "train_kernels/simd/map_inl.h"
#include "train_kernels/simd/targets.h"
#include "train_kernels/tables/elementwise.h"

HWY_BEFORE_NAMESPACE();
namespace coterie::kernels::simd::HWY_NAMESPACE {
namespace {

struct Relu {
  HWY_INLINE Vector operator()(Vector x) const { return at_least(hn::Zero(Tag()), x); }
};
struct ReluGradient {
  HWY_INLINE Vector operator()(Vector y, Vector dy) const { return hn::IfThenElseZero(hn::Gt(y, hn::Zero(Tag())), dy); }
};
struct Sum {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Add(a, b); }
};

// Here and below every operand is [n].
void relu_forward(size_t n, const float* x, float* y) { map(n, y, Relu(), x); }
void relu_backward(size_t n, const float* y, const float* dy, float* dx) { map(n, dx, ReluGradient(), y, dy); }
void add(size_t n, const float* a, const float* b, float* y) { map(n, y, Sum(), a, b); }
void accumulate(size_t n, const float* x, float* y) { map(n, y, Sum(), x, y); }

using HalfTag = hn::Rebind<uint16_t, Tag>;
using BitsTag = hn::RebindToUnsigned<Tag>;

// Rounding to the nearest even one adds a half of what is cut off, less one bit where the last that stays is 0.
HWY_INLINE hn::Vec<HalfTag> rounded(Vector x) {
  const BitsTag d;
  const auto bits = hn::BitCast(d, x);
  const auto last = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto near = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), last));
  // A NaN may have its only mantissa bits in the half that is cut off, and would become infinity: the quiet bit is set.
  const auto nan = hn::Or(hn::ShiftRight<16>(bits), hn::Set(d, 0x40));
  const auto is_nan = hn::RebindMask(d, hn::IsNaN(x));
  return hn::DemoteTo(HalfTag(), hn::BitCast(hn::RebindToSigned<Tag>(), hn::IfThenElse(is_nan, nan, near)));
}

HWY_INLINE Vector widened(hn::Vec<HalfTag> x) {
  return hn::BitCast(Tag(), hn::ShiftLeft<16>(hn::PromoteTo(BitsTag(), x)));
}

void narrow(size_t n, const float* x, uint16_t* y) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(rounded(hn::LoadU(Tag(), x + i)), HalfTag(), y + i);
  if (i == n) return;
  HWY_ALIGN uint16_t buffer[kLanes];
  hn::Store(rounded(load_n(x + i, n - i)), HalfTag(), buffer);
  std::memcpy(y + i, buffer, (n - i) * sizeof(uint16_t));
}

void widen(size_t n, const uint16_t* x, float* y) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(widened(hn::LoadU(HalfTag(), x + i)), Tag(), y + i);
  if (i == n) return;
  HWY_ALIGN uint16_t buffer[kLanes] = {};
  std::memcpy(buffer, x + i, (n - i) * sizeof(uint16_t));
  store_n(widened(hn::Load(HalfTag(), buffer)), y + i, n - i);
}

struct Spread {
  Vector least, largest, poison;  // poison: NaN once a value was not finite
  HWY_INLINE void take(Vector x) {
    least = hn::Min(least, x), largest = hn::Max(largest, x);
    poison = hn::Add(poison, hn::Sub(x, x));
  }
};

void least_and_largest(size_t n, const float* x, float* least, float* largest) {
  const Tag d;
  Spread spread{hn::Set(d, x[0]), hn::Set(d, x[0]), hn::Zero(d)};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) spread.take(hn::LoadU(d, x + i));
  if (i < n) {
    // The rest of the last vector is the first value again.
    HWY_ALIGN float buffer[kLanes];
    hn::Store(hn::Set(d, x[0]), d, buffer);
    std::memcpy(buffer, x + i, (n - i) * sizeof(float));
    spread.take(hn::Load(d, buffer));
  }
  const float poison = hn::GetLane(hn::SumOfLanes(d, spread.poison));
  *least = hn::GetLane(hn::MinOfLanes(d, spread.least)) + poison;
  *largest = hn::GetLane(hn::MaxOfLanes(d, spread.largest)) + poison;
}

struct OntoGrid {
  Vector scale, zero;
  HWY_INLINE Vector operator()(Vector x) const {
    const Vector step = hn::Add(hn::Round(hn::Div(x, scale)), zero);
    const Vector q = at_most(hn::Set(Tag(), 127.0f), at_least(hn::Set(Tag(), -128.0f), step));
    return hn::Mul(scale, hn::Sub(q, zero));
  }
};

void round_onto_grid(size_t n, float scale, float zero, const float* x, float* y) {
  map(n, y, OntoGrid{hn::Set(Tag(), scale), hn::Set(Tag(), zero)}, x);
}

}  // namespace

void fill_elementwise_target(ElementwiseKernels<float>& table) {
  COT_SET(relu_forward, relu_forward);
  COT_SET(relu_backward, relu_backward);
  COT_SET(add, add);
  COT_SET(accumulate, accumulate);
  COT_SET(narrow, narrow);
  COT_SET(widen, widen);
  COT_SET(least_and_largest, least_and_largest);
  COT_SET(round_onto_grid, round_onto_grid);
}

}  // namespace coterie::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coterie::kernels::simd {
COT_DEFINE_FILL(elementwise, ElementwiseKernels)
}  // namespace coterie::kernels::simd
#endif
