#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

constexpr double kUlp = 0x1p-23;
const SoftmaxShape kShapes[] = {{1, 1, 1}, {3, 2, 1}, {2, 10, 1}, {4, 33, 1}, {1, 5000, 1}, {2, 5, 3}, {3, 7, 40}};

TEST(Softmax, EqualsTheReferenceAlsoAsLogarithmAndInPlace) {
  Prng prng(80);
  for (const SoftmaxShape& s : kShapes) {
    const size_t n = s.outer * s.axis * s.inner;
    const Operand x(n, prng, -300, -280), probabilities(n, prng, 0, 1), logarithms(n, prng, -3, 0), dy(n, prng);
    Doubles y(n), log_y(n), dx(n), log_dx(n);
    exact().softmax_forward(s, x.exact.data(), y.data());
    exact().log_softmax_forward(s, x.exact.data(), log_y.data());
    exact().softmax_backward(s, probabilities.exact.data(), dy.exact.data(), dx.data());
    exact().log_softmax_backward(s, logarithms.exact.data(), dy.exact.data(), log_dx.data());
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> got(n), got_log(n), in_place(n), got_dx(n), got_log_dx(n);
      table.softmax_forward(s, x.values.data(), got.data());
      table.log_softmax_forward(s, x.values.data(), got_log.data());
      std::copy(x.values.span().begin(), x.values.span().end(), in_place.data());
      table.softmax_forward(s, in_place.data(), in_place.data());
      EXPECT_TRUE(std::ranges::equal(in_place.span(), got.span()));
      table.softmax_backward(s, probabilities.values.data(), dy.values.data(), got_dx.data());
      std::copy(dy.values.span().begin(), dy.values.span().end(), got_log_dx.data());
      table.log_softmax_backward(s, logarithms.values.data(), got_log_dx.data(), got_log_dx.data());
      // x - max is exact to half a unit of 20, e^x has 2 units, a sum of k terms gamma(k) at most gamma(136).
      const double axis = static_cast<double>(s.axis), sum = gamma(std::min(axis, 136.0));
      EXPECT_TRUE(is_close(got, y, y, sum + 30 * kUlp));
      EXPECT_TRUE(is_close(got_log, log_y, Doubles(n, 1 + 20), sum + 2 * kUlp));
      EXPECT_TRUE(is_close(got_dx, dx, Doubles(n, 1 + axis), sum + 2 * kUlp));
      EXPECT_TRUE(is_close(got_log_dx, log_dx, Doubles(n, 1 + axis), sum + 4 * kUlp));
    });
  }
}

TEST(Softmax, NaNShowsAndInfiniteLogitsWeighNothing) {
  const float infinity = std::numeric_limits<float>::infinity();
  for_each_table([&](const KernelTable& table) {
    std::vector<float> x(20, 1), y(20);
    x[3] = -infinity;
    table.softmax_forward({1, 20, 1}, x.data(), y.data());
    EXPECT_EQ(y[3], 0);
    EXPECT_NEAR(y[0], 1 / 19.0, 1e-7);
    x[4] = std::numeric_limits<float>::quiet_NaN();
    table.softmax_forward({1, 20, 1}, x.data(), y.data());
    EXPECT_TRUE(std::isnan(y[0]));
  });
}

TEST(Softmax, GradientIsTheDerivative) {
  Prng prng(81);
  const SoftmaxShape s{2, 4, 3};
  Doubles x = random(24, prng), y(24), dx(24);
  const Doubles dy = random(24, prng);
  const auto scalar = [&] {
    exact().softmax_forward(s, x.data(), y.data());
    return dot(dy, y);
  };
  scalar();
  exact().softmax_backward(s, y.data(), dy.data(), dx.data());
  expect_gradient("softmax", x, dx, scalar);
  const auto log_scalar = [&] {
    exact().log_softmax_forward(s, x.data(), y.data());
    return dot(dy, y);
  };
  log_scalar();
  exact().log_softmax_backward(s, y.data(), dy.data(), dx.data());
  expect_gradient("log softmax", x, dx, log_scalar);
}

}  // namespace
}  // namespace coterie::kernels::test
