#include <gtest/gtest.h>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

// Shapes of the matching convolution: y is height x width x channels.
const Conv2dShape kShapes[] = {
    {1, 3, 3, 1, 1, 1, 1},
    {2, 9, 8, 5, 3, 3, 7, 2, 2, 1, 1, 1, 1},
    {2, 10, 10, 3, 3, 3, 17, 2, 2, 1, 1, 1, 1},  // a row and a column of output padding
    {1, 8, 8, 16, 4, 4, 20, 2, 2, 1, 1, 1, 1},
    {2, 6, 7, 8, 3, 3, 12, 1, 1, 0, 1, 2, 0, 4},
    {1, 9, 9, 6, 3, 3, 6, 2, 2, 1, 1, 1, 1, 6},
    {1, 9, 8, 4, 3, 2, 5, 1, 1, 1, 1, 1, 1, 1, 2, 3},
};

size_t x_count(const Conv2dShape& s) { return s.batch * s.out_h() * s.out_w() * s.filters; }
size_t y_count(const Conv2dShape& s) { return s.batch * s.height * s.width * s.channels; }
GuardedBuffer<uint8_t> scratch(size_t bytes) { return GuardedBuffer<uint8_t>((bytes + 63) / 64 * 64); }

TEST(ConvTranspose, EqualsTheReference) {
  Prng prng(33);
  const auto& oracle = reference_kernels<double>();
  for (const Conv2dShape& s : kShapes) {
    SCOPED_TRACE(std::to_string(s.height) + "x" + std::to_string(s.width) + "x" + std::to_string(s.channels) + " s" +
                 std::to_string(s.stride_h) + " g" + std::to_string(s.groups));
    const Operand x(x_count(s), prng), w(s.taps() * s.filters, prng), bias(s.channels, prng), dy(y_count(s), prng);
    Doubles y(y_count(s)), y_size(y.size()), plain(y.size()), dx(x_count(s)), dx_size(dx.size());
    Doubles dw(w.exact.size()), dw_size(dw.size()), dbias(s.channels), dbias_size(s.channels);
    const auto none = Activation::none, relu6 = Activation::relu6;
    oracle.conv_transpose2d_forward(s, x.exact.data(), w.exact.data(), nullptr, none, plain.data(), nullptr);
    oracle.conv_transpose2d_forward(s, x.exact.data(), w.exact.data(), bias.exact.data(), relu6, y.data(), nullptr);
    oracle.conv_transpose2d_forward(s, x.magnitude.data(), w.magnitude.data(), bias.magnitude.data(), none,
                                    y_size.data(), nullptr);
    oracle.conv_transpose2d_backward_input(s, dy.exact.data(), w.exact.data(), dx.data(), nullptr);
    oracle.conv_transpose2d_backward_input(s, dy.magnitude.data(), w.magnitude.data(), dx_size.data(), nullptr);
    oracle.conv_transpose2d_backward_weights(s, x.exact.data(), dy.exact.data(), dw.data(), dbias.data(), nullptr);
    oracle.conv_transpose2d_backward_weights(s, x.magnitude.data(), dy.magnitude.data(), dw_size.data(),
                                             dbias_size.data(), nullptr);
    GuardedBuffer<uint8_t> forward = scratch(conv_transpose2d_forward_workspace(s));
    GuardedBuffer<uint8_t> backward = scratch(conv_transpose2d_backward_input_workspace(s));
    GuardedBuffer<uint8_t> weights = scratch(conv_transpose2d_backward_weights_workspace(s));
    const double sum_of_y = static_cast<double>(s.kernel_h * s.kernel_w * s.filters / s.groups);
    const double sum_of_w = static_cast<double>(s.batch * s.height * s.width);
    for_each_table([&](const KernelTable& table) {
      GuardedBuffer<float> got_plain(y.size()), got_y(y.size()), got_dx(dx.size()), got_dw(dw.size());
      GuardedBuffer<float> got_dbias(s.channels);
      table.conv_transpose2d_forward(s, x.values.data(), w.values.data(), nullptr, none, got_plain.data(),
                                     forward.data());
      table.conv_transpose2d_forward(s, x.values.data(), w.values.data(), bias.values.data(), relu6, got_y.data(),
                                     forward.data());
      table.conv_transpose2d_backward_input(s, dy.values.data(), w.values.data(), got_dx.data(), backward.data());
      table.conv_transpose2d_backward_weights(s, x.values.data(), dy.values.data(), got_dw.data(), got_dbias.data(),
                                              weights.data());
      EXPECT_TRUE(is_close(got_plain, plain, y_size, gamma(sum_of_y + 2)));
      EXPECT_TRUE(is_close(got_y, y, y_size, gamma(sum_of_y + 2)));
      EXPECT_TRUE(is_close(got_dx, dx, dx_size, gamma(static_cast<double>(s.taps()) + 1)));
      EXPECT_TRUE(is_close(got_dw, dw, dw_size, gamma(sum_of_w + 1)));
      EXPECT_TRUE(is_close(got_dbias, dbias, dbias_size, gamma(sum_of_w + 1)));
    });
  }
}

TEST(ConvTranspose, GradientIsTheDerivative) {
  Prng prng(34);
  const Conv2dShape s{2, 6, 5, 2, 3, 2, 4, 2, 1, 1, 0, 1, 1, 2};
  Doubles x = random(x_count(s), prng), w = random(s.taps() * s.filters, prng), bias = random(s.channels, prng);
  Doubles y(y_count(s)), dx(x.size()), dw(w.size()), dbias(bias.size());
  const Doubles dy = random(y.size(), prng);
  exact().conv_transpose2d_backward_input(s, dy.data(), w.data(), dx.data(), nullptr);
  exact().conv_transpose2d_backward_weights(s, x.data(), dy.data(), dw.data(), dbias.data(), nullptr);
  const auto scalar = [&] {
    exact().conv_transpose2d_forward(s, x.data(), w.data(), bias.data(), Activation::none, y.data(), nullptr);
    return dot(dy, y);
  };
  expect_gradient("x", x, dx, scalar);
  expect_gradient("w", w, dw, scalar);
  expect_gradient("bias", bias, dbias, scalar);
}

}  // namespace
}  // namespace coterie::kernels::test
