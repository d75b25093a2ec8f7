#include <gtest/gtest.h>

#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

std::vector<Pool2dShape> shapes() {
  std::vector<Pool2dShape> all;
  for (const size_t channels : {1, 3, 6, 8, 16, 17, 40}) {
    all.push_back({2, 28, 28, channels, 2, 2, 2, 2});  // tiles the image
    all.push_back({2, 7, 9, channels, 2, 2, 2, 2});    // leaves a row and a column out
    all.push_back({1, 9, 8, channels, 3, 3, 2, 2, 1, 1, 1, 1});
    all.push_back({2, 5, 6, channels, 3, 2, 1, 1, 1, 0, 2, 1});
    all.push_back({1, 6, 6, channels, 1, 2, 3, 3});
    all.push_back({3, 4, 5, channels, 4, 5, 1, 1});  // global
    all.push_back({1, 9, 8, channels, 3, 3, 2, 2, 1, 1, 1, 1, true});
    all.push_back({1, 8, 6, channels, 3, 3, 2, 2, 1, 0, 0, 1, true, 1, 0});  // with a row of ceil_mode
    all.push_back({2, 6, 7, channels, 3, 2, 2, 2, 0, 0, 0, 0, false, 1, 1});
  }
  return all;
}

std::vector<AdaptivePool2dShape> adaptive_shapes() {
  std::vector<AdaptivePool2dShape> all;
  for (const size_t channels : {1, 16, 35}) {
    all.push_back({2, 6, 8, channels, 3, 4});  // tiles the image
    all.push_back({1, 7, 5, channels, 3, 4});  // windows overlap
    all.push_back({2, 3, 4, channels, 5, 7});  // more outputs than pixels
    all.push_back({1, 7, 7, channels, 1, 1});
  }
  return all;
}

// The members of each kind of window, so that one test covers both.
struct Windows {
  static auto max_forward(const auto& table) { return table.max_pool2d_forward; }
  static auto max_backward(const auto& table) { return table.max_pool2d_backward; }
  static auto average_forward(const auto& table) { return table.average_pool2d_forward; }
  static auto average_backward(const auto& table) { return table.average_pool2d_backward; }
  static double largest(const Pool2dShape& s) { return static_cast<double>(s.kernel_h * s.kernel_w); }
};
struct AdaptiveWindows {
  static auto max_forward(const auto& table) { return table.adaptive_max_pool2d_forward; }
  static auto max_backward(const auto& table) { return table.adaptive_max_pool2d_backward; }
  static auto average_forward(const auto& table) { return table.adaptive_average_pool2d_forward; }
  static auto average_backward(const auto& table) { return table.adaptive_average_pool2d_backward; }
  static double largest(const AdaptivePool2dShape& s) {
    return static_cast<double>((s.height / s.out_rows + 2) * (s.width / s.out_columns + 2));
  }
};

std::string describe(const Pool2dShape& s) {
  return std::to_string(s.height) + "x" + std::to_string(s.width) + "x" + std::to_string(s.channels) + " k" +
         std::to_string(s.kernel_h) + "x" + std::to_string(s.kernel_w) + " s" + std::to_string(s.stride_h);
}

std::string describe(const AdaptivePool2dShape& s) {
  return std::to_string(s.height) + "x" + std::to_string(s.width) + "x" + std::to_string(s.channels) + " to " +
         std::to_string(s.out_rows) + "x" + std::to_string(s.out_columns);
}

template <typename Shape>
size_t inputs(const Shape& s) {
  return s.batch * s.height * s.width * s.channels;
}
template <typename Shape>
size_t outputs(const Shape& s) {
  return s.batch * s.out_h() * s.out_w() * s.channels;
}

// Few distinct values, so that many windows hold their maximum twice.
Operand tied(size_t count, Prng& prng) {
  Operand x(count, prng);
  for (size_t i = 0; i < count; ++i) x.set(i, static_cast<float>(prng.below(4)) - 1.5f);
  return x;
}

template <typename Members, typename Shape>
void expect_max_forward(const std::vector<Shape>& shapes) {
  Prng prng(8);
  for (const Shape& s : shapes) {
    SCOPED_TRACE(describe(s));
    const Operand x(inputs(s), prng);
    Doubles y(outputs(s));
    Members::max_forward(reference_kernels<double>())(s, x.exact.data(), y.data());
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> got(y.size());
      Members::max_forward(table)(s, x.values.data(), got.data());
      EXPECT_TRUE(is_close(got, y, y, 0));
    });
  }
}
TEST(MaxPool, ForwardEqualsTheReferenceExactly) {
  expect_max_forward<Windows>(shapes());
  expect_max_forward<AdaptiveWindows>(adaptive_shapes());
}

template <typename Members, typename Shape>
void expect_max_backward(const std::vector<Shape>& shapes) {
  Prng prng(9);
  const auto& exact = reference_kernels<double>();
  for (const Shape& s : shapes) {
    SCOPED_TRACE(describe(s));
    const Operand x = tied(inputs(s), prng), dy(outputs(s), prng);
    Operand y(outputs(s), prng);
    Doubles top(outputs(s));
    Members::max_forward(exact)(s, x.exact.data(), top.data());
    for (size_t i = 0; i < top.size(); ++i) y.set(i, static_cast<float>(top[i]));
    for (const bool through_relu : {false, true}) {
      Doubles dx(inputs(s)), magnitude(dx.size());
      Members::max_backward(exact)(s, x.exact.data(), top.data(), dy.exact.data(), through_relu, dx.data());
      Members::max_backward(exact)(s, x.exact.data(), top.data(), dy.magnitude.data(), through_relu, magnitude.data());
      for_each_table([&](const KernelTable& table) {
        GuardedBuffer<float> got(dx.size());
        Members::max_backward(table)(s, x.values.data(), y.values.data(), dy.values.data(), through_relu, got.data());
        EXPECT_TRUE(is_close(got, dx, magnitude, gamma(Members::largest(s))));
      });
    }
  }
}
TEST(MaxPool, BackwardGivesTheGradientToTheFirstOfEqualValues) {
  expect_max_backward<Windows>(shapes());
  expect_max_backward<AdaptiveWindows>(adaptive_shapes());
}

template <typename Members, typename Shape>
void expect_average(const std::vector<Shape>& shapes) {
  Prng prng(10);
  const auto& exact = reference_kernels<double>();
  for (const Shape& s : shapes) {
    SCOPED_TRACE(describe(s));
    const Operand x(inputs(s), prng), dy(outputs(s), prng);
    Doubles y(outputs(s)), y_magnitude(y.size()), dx(inputs(s)), dx_magnitude(dx.size());
    Members::average_forward(exact)(s, x.exact.data(), y.data());
    Members::average_forward(exact)(s, x.magnitude.data(), y_magnitude.data());
    Members::average_backward(exact)(s, dy.exact.data(), dx.data());
    Members::average_backward(exact)(s, dy.magnitude.data(), dx_magnitude.data());
    const double bound = gamma(Members::largest(s) + 2);
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> got_y(y.size()), got_dx(dx.size());
      Members::average_forward(table)(s, x.values.data(), got_y.data());
      Members::average_backward(table)(s, dy.values.data(), got_dx.data());
      EXPECT_TRUE(is_close(got_y, y, y_magnitude, bound));
      EXPECT_TRUE(is_close(got_dx, dx, dx_magnitude, bound));
    });
  }
}
TEST(AveragePool, ForwardAndBackwardEqualTheReference) {
  expect_average<Windows>(shapes());
  expect_average<AdaptiveWindows>(adaptive_shapes());
}

}  // namespace
}  // namespace coterie::kernels::test
