#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

constexpr double kUlp = 0x1p-23;

const GroupNormShape kShapes[] = {{2, 3, 4, 2},   {1, 9, 3, 3},    {3, 5, 6, 1},     {2, 7, 130, 130},
                                  {2, 4, 200, 2}, {1, 150, 96, 3}, {2, 10, 130, 26}, {1, 1, 70, 1}};

TEST(GroupNorm, EqualsTheReferenceForGroupsOfEverySize) {
  Prng prng(60);
  for (const GroupNormShape& s : kShapes) {
    const size_t n = s.batch * s.positions * s.channels, groups = s.batch * s.groups;
    const double count = static_cast<double>(s.positions * s.group_channels());
    const Operand x(n, prng, 2, 4), scale(s.channels, prng, -2, 2), bias(s.channels, prng), dy(n, prng);
    const Operand mean(groups, prng, 2, 4), inverse(groups, prng, 0.5, 2);
    Doubles y(n), means(groups), inverses(groups), dx(n), dscale(s.channels), dbias(s.channels);
    exact().group_norm_forward(s, x.exact.data(), scale.exact.data(), bias.exact.data(), 1e-3, y.data(), means.data(),
                               inverses.data());
    exact().group_norm_backward_input(s, x.exact.data(), scale.exact.data(), mean.exact.data(), inverse.exact.data(),
                                      dy.exact.data(), dx.data());
    exact().group_norm_backward_parameters(s, 0, s.channels, x.exact.data(), mean.exact.data(), inverse.exact.data(),
                                           dy.exact.data(), dscale.data(), dbias.data());
    for_each_table([&](const KernelTable& table) {
      SCOPED_TRACE(s.group_channels());
      GuardedBuffer<float> got_y(n), got_mean(groups), got_inverse(groups), got_dx(n), got_dscale(s.channels),
          got_dbias(s.channels);
      table.group_norm_forward(s, x.values.data(), scale.values.data(), bias.values.data(), 1e-3f, got_y.data(),
                               got_mean.data(), got_inverse.data());
      table.group_norm_backward_input(s, x.values.data(), scale.values.data(), mean.values.data(),
                                      inverse.values.data(), dy.values.data(), got_dx.data());
      const size_t half = s.channels / 2;
      for (const auto& [begin, end] : {std::pair{size_t{0}, half}, std::pair{half, s.channels}}) {
        table.group_norm_backward_parameters(s, begin, end, x.values.data(), mean.values.data(), inverse.values.data(),
                                             dy.values.data(), got_dscale.data(), got_dbias.data());
      }
      // A channel's sum: up to 128 additions in a block; groups and examples are added in double. A
      // statistic's error is relative to the largest |x|, 4, and amplified by 1 / stddev.
      const double sum = gamma(std::min(count, 256.0) + 8);
      EXPECT_TRUE(is_close(got_mean, means, Doubles(groups, 4), sum));
      EXPECT_TRUE(is_close(got_inverse, inverses, inverses, 4 * sum));
      const double largest = *std::ranges::max_element(inverses);
      EXPECT_TRUE(is_close(got_y, y, Doubles(n, 2 * 4 * largest + 1), 4 * sum));
      // inverse 2 |scale dy| (1 + x'^2): 2 * 2 * (1 + 16)
      EXPECT_TRUE(is_close(got_dx, dx, Doubles(n, 4.0 * 17), sum + 4 * kUlp));
      const double terms = static_cast<double>(s.batch * s.positions);
      EXPECT_TRUE(is_close(got_dscale, dscale, Doubles(s.channels, 4 * terms), sum));
      EXPECT_TRUE(is_close(got_dbias, dbias, Doubles(s.channels, terms), sum));
    });
  }
}

TEST(GroupNorm, OneExampleIsTheSameAloneAndInItsBatch) {
  Prng prng(61);
  const GroupNormShape s{3, 11, 20, 4}, one{1, 11, 20, 4};
  const Operand x(3 * 220, prng), scale(20, prng), bias(20, prng);
  for_each_table([&](const KernelTable& table) {
    std::vector<float> y(660), mean(12), inverse(12), alone(220), alone_mean(4), alone_inverse(4);
    table.group_norm_forward(s, x.values.data(), scale.values.data(), bias.values.data(), 1e-5f, y.data(), mean.data(),
                             inverse.data());
    table.group_norm_forward(one, x.values.data() + 440, scale.values.data(), bias.values.data(), 1e-5f, alone.data(),
                             alone_mean.data(), alone_inverse.data());
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), y.begin() + 440));
  });
}

TEST(GroupNorm, GradientIsTheDerivative) {
  Prng prng(62);
  for (const GroupNormShape& s : {GroupNormShape{2, 3, 4, 2}, GroupNormShape{1, 4, 3, 3}, GroupNormShape{2, 2, 3, 1}}) {
    const size_t n = s.batch * s.positions * s.channels;
    Doubles x = random(n, prng), scale = random(s.channels, prng), bias = random(s.channels, prng), y(n), dx(n);
    Doubles mean(s.batch * s.groups), inverse(mean.size()), dscale(s.channels), dbias(s.channels);
    const Doubles dy = random(n, prng);
    const auto scalar = [&] {
      exact().group_norm_forward(s, x.data(), scale.data(), bias.data(), 0.1, y.data(), mean.data(), inverse.data());
      return dot(dy, y);
    };
    scalar();
    exact().group_norm_backward_input(s, x.data(), scale.data(), mean.data(), inverse.data(), dy.data(), dx.data());
    exact().group_norm_backward_parameters(s, 0, s.channels, x.data(), mean.data(), inverse.data(), dy.data(),
                                           dscale.data(), dbias.data());
    expect_gradient("x", x, dx, scalar);
    expect_gradient("scale", scale, dscale, scalar);
    expect_gradient("bias", bias, dbias, scalar);
  }
}

}  // namespace
}  // namespace coterie::kernels::test
