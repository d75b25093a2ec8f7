#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

constexpr double kUlp = 0x1p-23;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  UnaryOp op;
  double low, high;            // of x
  bool absolute_in_x = false;  // the error is bounded by a multiple of 1 + |x|, not of |y|
};

// 1 + |x|: the derivative of a GELU or swish is a difference of terms of that size.
const Case kCases[] = {
    {{Unary::relu}, -4, 4},
    {{Unary::relu6}, -8, 8},
    {{Unary::leaky_relu, 0.01f}, -4, 4},
    {{Unary::leaky_relu, -0.5f}, -4, 4},
    {{Unary::elu, 1.5f}, -20, 4},
    {{Unary::elu, -0.5f}, -20, 4},
    {{Unary::gelu_erf}, -6, 6, true},
    {{Unary::gelu_tanh}, -6, 6, true},
    {{Unary::sigmoid}, -80, 30},
    {{Unary::hard_sigmoid, 0.2f, 0.5f}, -4, 4, true},
    {{Unary::hard_swish}, -4, 4, true},
    {{Unary::swish}, -30, 30, true},
    {{Unary::tanh}, -10, 10},
    {{Unary::tanh}, -0.01, 0.01},
    {{Unary::softplus}, -40, 40},
    {{Unary::softsign}, -10, 10},
    {{Unary::clip, -0.5f, 0.75f}, -2, 2},
    {{Unary::sqrt}, 1e-6, 100},
    {{Unary::exp}, -87, 88},
    {{Unary::exp}, -1e-3, 1e-3},
    {{Unary::log}, 1e-6, 3},
    {{Unary::log}, 1, 1e30},
    {{Unary::abs}, -4, 4},
    {{Unary::neg}, -4, 4},
    {{Unary::reciprocal}, 0.01, 10},
    {{Unary::erf}, -5, 5},
    {{Unary::erf}, -1e-3, 1e-3},
};

// Bounds: the value's own 3 units (math_inl.h) and one more for each operation around it.
constexpr double kValueUlps = 4, kSlopeUlps = 6;

Doubles magnitude_of(const Case& c, const Operand& x, const Doubles& exact) {
  Doubles magnitude(exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    magnitude[i] = c.absolute_in_x ? 1 + x.magnitude[i] : std::fabs(exact[i]);
  }
  return magnitude;
}

TEST(Unary, EqualsTheReferenceForEveryFunctionAndLength) {
  Prng prng(40);
  for (const Case& c : kCases) {
    for (const size_t n : {1, 3, 8, 17, 4001}) {
      const Operand x(n, prng, c.low, c.high);
      Doubles y(n);
      reference_kernels<double>().unary_forward(c.op, n, x.exact.data(), y.data());
      for_each_table([&](const KernelTable& table) {
        SCOPED_TRACE(static_cast<int>(c.op.kind));
        GuardedBuffer<float> apart(n), in_place(n);
        table.unary_forward(c.op, n, x.values.data(), apart.data());
        std::copy(x.values.span().begin(), x.values.span().end(), in_place.data());
        table.unary_forward(c.op, n, in_place.data(), in_place.data());
        EXPECT_TRUE(is_close(apart, y, magnitude_of(c, x, y), kValueUlps * kUlp)) << n;
        EXPECT_TRUE(std::ranges::equal(apart.span(), in_place.span()));
      });
    }
  }
}

TEST(Unary, BackwardEqualsTheReferenceFromWhatItSays) {
  Prng prng(41);
  for (const Case& c : kCases) {
    for (const size_t n : {1, 3, 8, 17, 1001}) {
      const Operand x(n, prng, c.low, c.high), dy(n, prng);
      Operand saved(n, prng);  // x, or y rounded to float: what a runtime has kept
      Doubles y(n), dx(n);
      reference_kernels<double>().unary_forward(c.op, n, x.exact.data(), y.data());
      const DerivativeReads reads = derivative_reads(c.op);
      for (size_t i = 0; i < n; ++i) {
        saved.set(i, reads == DerivativeReads::y ? static_cast<float>(y[i]) : x.values[i]);
      }
      reference_kernels<double>().unary_backward(c.op, n, saved.exact.data(), dy.exact.data(), dx.data());
      Doubles magnitude(n);
      for (size_t i = 0; i < n; ++i) {
        // 1 - y and the like lose what y has lost: their error is relative to 1.
        const bool loses_one = reads == DerivativeReads::y || c.op.kind == Unary::erf;  // e^(-x^2): that of x^2
        const double loses = c.absolute_in_x ? 1 + x.magnitude[i] : loses_one ? 1 : 0;
        magnitude[i] = std::fabs(dx[i]) + loses * dy.magnitude[i];
      }
      for_each_table([&](const KernelTable& table) {
        SCOPED_TRACE(static_cast<int>(c.op.kind));
        GuardedBuffer<float> apart(n), in_place(n);
        const float* kept = reads == DerivativeReads::neither ? nullptr : saved.values.data();
        table.unary_backward(c.op, n, kept, dy.values.data(), apart.data());
        std::copy(dy.values.span().begin(), dy.values.span().end(), in_place.data());
        table.unary_backward(c.op, n, kept, in_place.data(), in_place.data());
        EXPECT_TRUE(is_close(apart, dx, magnitude, kSlopeUlps * kUlp)) << n;
        EXPECT_TRUE(std::ranges::equal(apart.span(), in_place.span()));
      });
    }
  }
}

TEST(Unary, GradientIsTheDerivative) {
  Prng prng(42);
  for (const Case& c : kCases) {
    SCOPED_TRACE(static_cast<int>(c.op.kind));
    constexpr size_t kCount = 50;
    const double low = c.op.kind == Unary::log || c.op.kind == Unary::sqrt ? 0.3 : std::max(c.low, -3.5);
    Doubles x = random(kCount, prng, low, std::min(c.high, 3.5)), y(kCount), dx(kCount);
    if (c.op.kind == Unary::reciprocal) x = random(kCount, prng, 0.5, 2);
    const Doubles dy = random(kCount, prng);
    exact().unary_forward(c.op, kCount, x.data(), y.data());
    const Doubles& saved = derivative_reads(c.op) == DerivativeReads::y ? y : x;
    exact().unary_backward(c.op, kCount, saved.data(), dy.data(), dx.data());
    expect_gradient("x", x, dx, [&] {
      Doubles value(kCount);
      exact().unary_forward(c.op, kCount, x.data(), value.data());
      return dot(dy, value);
    });
  }
}

struct Special {
  Unary kind;
  float x, y;
};
TEST(Unary, InfinitiesAndZeroAreThoseOfTheFunction) {
  const Special specials[] = {
      {Unary::exp, -kInfinity, 0},
      {Unary::exp, kInfinity, kInfinity},
      {Unary::exp, 89, kInfinity},
      {Unary::exp, 0, 1},
      {Unary::exp, -104.5f, 0},
      {Unary::log, 0, -kInfinity},
      {Unary::log, kInfinity, kInfinity},
      {Unary::log, 1, 0},
      {Unary::log, -1, kNaN},
      {Unary::log, 0x1p-149f, -103.278929903f},
      {Unary::tanh, kInfinity, 1},
      {Unary::tanh, -kInfinity, -1},
      {Unary::sigmoid, kInfinity, 1},
      {Unary::sigmoid, -kInfinity, 0},
      {Unary::erf, kInfinity, 1},
      {Unary::erf, -kInfinity, -1},
      {Unary::softplus, -kInfinity, 0},
      {Unary::softplus, kInfinity, kInfinity},
      {Unary::elu, -kInfinity, -1},
      {Unary::elu, kInfinity, kInfinity},
      {Unary::relu6, kInfinity, 6},
      {Unary::reciprocal, 0, kInfinity},
      {Unary::sqrt, -1, kNaN},
      {Unary::gelu_erf, kInfinity, kInfinity},
      {Unary::gelu_tanh, kInfinity, kInfinity},
      {Unary::swish, kInfinity, kInfinity},
  };
  for_each_table([&](const KernelTable& table) {
    for (const Special& s : specials) {
      SCOPED_TRACE(static_cast<int>(s.kind));
      float y[19];
      const std::vector<float> x(19, s.x);
      table.unary_forward({s.kind, 1, 1}, 19, x.data(), y);
      for (const float value : {y[0], y[18]}) {
        if (std::isnan(s.y)) EXPECT_TRUE(std::isnan(value)) << s.x;
        else EXPECT_EQ(value, s.y) << s.x;
      }
    }
  });
}

TEST(Unary, NaNPassesThroughEveryFunctionAndLeavesItsNeighboursAlone) {
  for_each_table([&](const KernelTable& table) {
    for (const Case& c : kCases) {
      float x[19], y[19];
      std::fill_n(x, 19, 0.5f);
      x[2] = x[17] = kNaN;
      table.unary_forward(c.op, 19, x, y);
      for (size_t i = 0; i < 19; ++i) EXPECT_EQ(std::isnan(y[i]), i == 2 || i == 17) << static_cast<int>(c.op.kind);
    }
  });
}

TEST(Prelu, EqualsTheReferenceWithOneSlopeOrOneAChannel) {
  Prng prng(43);
  const PreluShape shapes[] = {{5, 3, 3, false}, {7, 17, 20, false}, {300, 33, 33, false}, {4, 70, 70, false},
                               {5, 3, 3, true},  {9, 17, 20, true},  {300, 40, 40, true}};
  for (const PreluShape& s : shapes) {
    const size_t n = (s.rows - 1) * s.stride + s.channels, slopes = s.one_slope ? 1 : s.channels;
    const Operand x(n, prng), slope(slopes, prng), dy(n, prng);
    Doubles y(n), dx(n), dslope(slopes), sums(slopes);
    const KernelTableOf<double>& reference = reference_kernels<double>();
    reference.prelu_forward(s, x.exact.data(), slope.exact.data(), y.data());
    reference.prelu_backward_input(s, x.exact.data(), slope.exact.data(), dy.exact.data(), dx.data());
    reference.prelu_backward_slope(s, x.exact.data(), dy.exact.data(), dslope.data());
    Doubles negative(n);
    for (size_t i = 0; i < n; ++i) negative[i] = x.exact[i] > 0 ? 0 : -x.magnitude[i];
    reference.prelu_backward_slope(s, negative.data(), dy.magnitude.data(), sums.data());
    for (double& sum : sums) sum = -sum;
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> got_y(n), got_dx(n), got_dslope(slopes);
      got_y.fill(0);
      got_dx.fill(0);
      table.prelu_forward(s, x.values.data(), slope.values.data(), got_y.data());
      table.prelu_backward_input(s, x.values.data(), slope.values.data(), dy.values.data(), got_dx.data());
      table.prelu_backward_slope(s, x.values.data(), dy.values.data(), got_dslope.data());
      EXPECT_TRUE(is_close(got_y, y, Doubles(n, 1), kUlp));
      EXPECT_TRUE(is_close(got_dx, dx, Doubles(n, 1), kUlp));
      // A blocked sum: 1 for the product, 128 + 128 additions and those of a vector's lanes.
      EXPECT_TRUE(is_close(got_dslope, dslope, sums, gamma(std::min<double>(n, 280) + 1)));
    });
  }
}

TEST(Prelu, GradientIsTheDerivative) {
  Prng prng(44);
  for (const bool one_slope : {false, true}) {
    const PreluShape s{5, 4, 4, one_slope};
    Doubles x = random(20, prng), slope = random(one_slope ? 1 : 4, prng), y(20), dx(20), dslope(slope.size());
    const Doubles dy = random(20, prng);
    exact().prelu_backward_input(s, x.data(), slope.data(), dy.data(), dx.data());
    exact().prelu_backward_slope(s, x.data(), dy.data(), dslope.data());
    const auto scalar = [&] {
      exact().prelu_forward(s, x.data(), slope.data(), y.data());
      return dot(dy, y);
    };
    expect_gradient("x", x, dx, scalar);
    expect_gradient("slope", slope, dslope, scalar);
  }
}

}  // namespace
}  // namespace coterie::kernels::test
