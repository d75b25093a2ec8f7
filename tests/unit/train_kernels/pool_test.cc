#include <gtest/gtest.h>

#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

std::vector<Pool2dShape> shapes() {
  std::vector<Pool2dShape> all;
  for (const size_t channels : {1, 3, 6, 8, 16, 17, 40}) {
    all.push_back({2, 28, 28, channels, 2, 2, 2, 2});     // tiles the image
    all.push_back({2, 7, 9, channels, 2, 2, 2, 2});       // leaves a row and a column out
    all.push_back({1, 9, 8, channels, 3, 3, 2, 2, 1, 1, 1, 1});
    all.push_back({2, 5, 6, channels, 3, 2, 1, 1, 1, 0, 2, 1});
    all.push_back({1, 6, 6, channels, 1, 2, 3, 3});
    all.push_back({3, 4, 5, channels, 4, 5, 1, 1});       // global
  }
  return all;
}

std::string describe(const Pool2dShape& s) {
  return std::to_string(s.height) + "x" + std::to_string(s.width) + "x" + std::to_string(s.channels) + " k" +
         std::to_string(s.kernel_h) + "x" + std::to_string(s.kernel_w) + " s" + std::to_string(s.stride_h);
}

size_t inputs(const Pool2dShape& s) { return s.batch * s.height * s.width * s.channels; }
size_t outputs(const Pool2dShape& s) { return s.batch * s.out_h() * s.out_w() * s.channels; }

// Few distinct values, so that many windows hold their maximum twice.
Operand tied(size_t count, Prng& prng) {
  Operand x(count, prng);
  for (size_t i = 0; i < count; ++i) x.set(i, static_cast<float>(prng.below(4)) - 1.5f);
  return x;
}

TEST(MaxPool, ForwardEqualsTheReferenceExactly) {
  Prng prng(8);
  for (const Pool2dShape& s : shapes()) {
    SCOPED_TRACE(describe(s));
    const Operand x(inputs(s), prng);
    Doubles y(outputs(s));
    reference_kernels<double>().max_pool2d_forward(s, x.exact.data(), y.data());
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> got(y.size());
      table.max_pool2d_forward(s, x.values.data(), got.data());
      EXPECT_TRUE(is_close(got, y, y, 0));
    });
  }
}

TEST(MaxPool, BackwardGivesTheGradientToTheFirstOfEqualValues) {
  Prng prng(9);
  const auto& exact = reference_kernels<double>();
  for (const Pool2dShape& s : shapes()) {
    SCOPED_TRACE(describe(s));
    const Operand x = tied(inputs(s), prng), dy(outputs(s), prng);
    Operand y(outputs(s), prng);
    Doubles top(outputs(s));
    exact.max_pool2d_forward(s, x.exact.data(), top.data());
    for (size_t i = 0; i < top.size(); ++i) y.set(i, static_cast<float>(top[i]));
    for (const bool through_relu : {false, true}) {
      Doubles dx(inputs(s)), magnitude(dx.size());
      exact.max_pool2d_backward(s, x.exact.data(), top.data(), dy.exact.data(), through_relu, dx.data());
      exact.max_pool2d_backward(s, x.exact.data(), top.data(), dy.magnitude.data(), through_relu, magnitude.data());
      for_each_table([&](const KernelTable& table) {
        GuardedBuffer<float> got(dx.size());
        table.max_pool2d_backward(s, x.values.data(), y.values.data(), dy.values.data(), through_relu, got.data());
        EXPECT_TRUE(is_close(got, dx, magnitude, gamma(static_cast<double>(s.kernel_h * s.kernel_w))));
      });
    }
  }
}

TEST(AveragePool, ForwardAndBackwardEqualTheReference) {
  Prng prng(10);
  const auto& exact = reference_kernels<double>();
  for (const Pool2dShape& s : shapes()) {
    SCOPED_TRACE(describe(s));
    const Operand x(inputs(s), prng), dy(outputs(s), prng);
    Doubles y(outputs(s)), y_magnitude(y.size()), dx(inputs(s)), dx_magnitude(dx.size());
    exact.average_pool2d_forward(s, x.exact.data(), y.data());
    exact.average_pool2d_forward(s, x.magnitude.data(), y_magnitude.data());
    exact.average_pool2d_backward(s, dy.exact.data(), dx.data());
    exact.average_pool2d_backward(s, dy.magnitude.data(), dx_magnitude.data());
    const double bound = gamma(static_cast<double>(s.kernel_h * s.kernel_w) + 2);
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> got_y(y.size()), got_dx(dx.size());
      table.average_pool2d_forward(s, x.values.data(), got_y.data());
      table.average_pool2d_backward(s, dy.values.data(), got_dx.data());
      EXPECT_TRUE(is_close(got_y, y, y_magnitude, bound));
      EXPECT_TRUE(is_close(got_dx, dx, dx_magnitude, bound));
    });
  }
}

}  // namespace
}  // namespace coterie::kernels::test
