#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

constexpr double kUlp = 0x1p-23;
constexpr float kEpsilon = 1e-5f;
constexpr Activation kActivations[] = {Activation::none, Activation::relu, Activation::relu6};

const BatchNormShape kShapes[] = {{1, 3, 3},    {2, 16, 16},     {7, 5, 9},     {64, 33, 33},
                                  {65, 64, 70}, {129, 130, 130}, {300, 24, 24}, {16400, 3, 3}};

size_t extent(const BatchNormShape& s) { return (s.rows - 1) * s.stride + s.channels; }

// A blocked sum of n terms: at most 128 additions in each of its levels, and a few operations for each term.
double blocked(size_t n) { return gamma(static_cast<double>(std::min<size_t>(n, 128)) + 128.0 * (n > 128) + 8); }

struct Statistics {
  Doubles mean, inverse, running_mean, running_variance;
};

// Statistics of x in double, with running statistics 0.5 and 2 and momentum 0.1.
Statistics exact_statistics(const BatchNormShape& s, const Doubles& x) {
  Statistics of{Doubles(s.channels), Doubles(s.channels), Doubles(s.channels, 0.5), Doubles(s.channels, 2)};
  const BatchNormRunning<double> running{of.running_mean.data(), of.running_variance.data(), 0.1f};
  exact().batch_norm_statistics(s, x.data(), kEpsilon, of.mean.data(), of.inverse.data(), &running);
  return of;
}

TEST(BatchNorm, StatisticsEqualTheReferenceAlsoWhereTheMeanIsLarge) {
  Prng prng(50);
  for (const BatchNormShape& s : kShapes) {
    for (const double center : {0.0, 1e4}) {
      const Operand x(extent(s), prng, center - 1, center + 1);
      const Statistics want = exact_statistics(s, x.exact);
      for_each_table([&](const KernelTable& table) {
        GuardedBuffer<float> mean(s.channels), inverse(s.channels), running_mean(s.channels), variance(s.channels);
        running_mean.fill(0.5f);
        variance.fill(2);
        const BatchNormRunning<float> running{running_mean.data(), variance.data(), 0.1f};
        table.batch_norm_statistics(s, x.values.data(), kEpsilon, mean.data(), inverse.data(), &running);
        const Doubles size(s.channels, center + 1);
        EXPECT_TRUE(is_close(mean, want.mean, size, blocked(s.rows)));
        EXPECT_TRUE(is_close(running_mean, want.running_mean, size, blocked(s.rows)));
        // Nothing is lost to the mean: the bound is that of values around 0.
        EXPECT_TRUE(is_close(inverse, want.inverse, want.inverse, 2 * blocked(s.rows)));
        EXPECT_TRUE(is_close(variance, want.running_variance, want.running_variance, 2 * blocked(s.rows)));
        GuardedBuffer<float> again(s.channels), unused(s.channels);
        table.batch_norm_statistics(s, x.values.data(), kEpsilon, unused.data(), again.data(), nullptr);
        EXPECT_TRUE(std::ranges::equal(again.span(), inverse.span()));
      });
    }
  }
}

TEST(BatchNorm, RunningVarianceIsUnbiasedAndStaysWithOneRow) {
  const float x[] = {1, 3};  // variance 2 with divisor 1
  for_each_table([&](const KernelTable& table) {
    float mean, inverse, running_mean = 0, variance = 4;
    const BatchNormRunning<float> running{&running_mean, &variance, 0.25f};
    table.batch_norm_statistics({2, 1, 1}, x, 0, &mean, &inverse, &running);
    EXPECT_EQ(mean, 2);
    EXPECT_EQ(inverse, 1);
    EXPECT_EQ(running_mean, 0.5f);
    EXPECT_EQ(variance, 3.5f);
    table.batch_norm_statistics({1, 1, 1}, x, 1, &mean, &inverse, &running);
    EXPECT_EQ(running_mean, 0.625f);
    EXPECT_EQ(variance, 3.5f);
  });
}

// A problem with every operand given, so that each kernel is judged alone.
struct Problem {
  Problem(const BatchNormShape& shape, Prng& prng)
      : s(shape),
        x(extent(s), prng, -2, 2),
        dy(extent(s), prng),
        mean(s.channels, prng),
        inverse(s.channels, prng, 0.5, 3),
        scale(s.channels, prng, -2, 2),
        bias(s.channels, prng),
        dscale(s.channels, prng, -3, 3),
        dbias(s.channels, prng, -3, 3) {
    // No value so near a bound of an activation that rounding decides.
    for (size_t i = 0; i < extent(s); ++i) {
      const size_t c = i % s.stride;
      if (c >= s.channels) continue;
      const double y = scale.exact[c] * inverse.exact[c] * (x.exact[i] - mean.exact[c]) + bias.exact[c];
      if (std::fabs(y) < 1e-4 || std::fabs(y - 6) < 1e-4) x.set(i, x.values[i] + 1e-3f / inverse.values[c]);
    }
  }
  BatchNormChannels<float> channels() const {
    return {mean.values.data(), inverse.values.data(), scale.values.data(), bias.values.data()};
  }
  BatchNormChannels<double> exact_channels() const {
    return {mean.exact.data(), inverse.exact.data(), scale.exact.data(), bias.exact.data()};
  }
  const BatchNormShape s;
  Operand x, dy, mean, inverse, scale, bias, dscale, dbias;
};

TEST(BatchNorm, ForwardEqualsTheReferenceWithEveryActivation) {
  Prng prng(51);
  for (const BatchNormShape& s : kShapes) {
    const Problem p(s, prng);
    for (const Activation activation : kActivations) {
      Doubles y(extent(s));
      exact().batch_norm_forward(s, p.x.exact.data(), p.exact_channels(), activation, y.data());
      for_each_table([&](const KernelTable& table) {
        GuardedBuffer<float> got(extent(s)), in_place(extent(s));
        got.fill(0);
        table.batch_norm_forward(s, p.x.values.data(), p.channels(), activation, got.data());
        EXPECT_TRUE(is_close(got, y, Doubles(y.size(), 3 * 3 * 2 + 1), 3 * kUlp));  // |scale inverse (x - mean)|
        std::copy(p.x.values.span().begin(), p.x.values.span().end(), in_place.data());
        table.batch_norm_forward(s, in_place.data(), p.channels(), activation, in_place.data());
        if (s.stride == s.channels) {
          EXPECT_TRUE(std::ranges::equal(got.span(), in_place.span()));
        }
      });
    }
  }
}

TEST(BatchNorm, BackwardEqualsTheReferenceWithEveryActivation) {
  Prng prng(52);
  for (const BatchNormShape& s : kShapes) {
    const Problem p(s, prng);
    const size_t batch_rows = s.rows + 3;
    for (const Activation activation : kActivations) {
      Doubles dscale(s.channels), dbias(s.channels), dx(extent(s)), frozen(extent(s));
      const auto channels = p.exact_channels();
      exact().batch_norm_backward_parameters(s, p.x.exact.data(), channels, activation, p.dy.exact.data(),
                                             dscale.data(), dbias.data());
      exact().batch_norm_backward_input(s, batch_rows, p.x.exact.data(), channels, activation, p.dscale.exact.data(),
                                        p.dbias.exact.data(), p.dy.exact.data(), dx.data());
      exact().batch_norm_backward_frozen(s, p.x.exact.data(), channels, activation, p.dy.exact.data(), frozen.data());
      for_each_table([&](const KernelTable& table) {
        GuardedBuffer<float> got_dscale(s.channels), got_dbias(s.channels), got_dx(extent(s)), got_frozen(extent(s));
        got_dx.fill(0);
        got_frozen.fill(0);
        table.batch_norm_backward_parameters(s, p.x.values.data(), p.channels(), activation, p.dy.values.data(),
                                             got_dscale.data(), got_dbias.data());
        table.batch_norm_backward_input(s, batch_rows, p.x.values.data(), p.channels(), activation,
                                        p.dscale.values.data(), p.dbias.values.data(), p.dy.values.data(),
                                        got_dx.data());
        const float* x = activation == Activation::none ? nullptr : p.x.values.data();
        table.batch_norm_backward_frozen(s, x, p.channels(), activation, p.dy.values.data(), got_frozen.data());
        const double rows = static_cast<double>(s.rows);
        EXPECT_TRUE(is_close(got_dscale, dscale, Doubles(s.channels, rows * 9), blocked(s.rows)));  // |dy x'| < 9
        EXPECT_TRUE(is_close(got_dbias, dbias, Doubles(s.channels, rows), blocked(s.rows)));
        // scale inverse (|dy| + |dbias| / n + |x' dscale| / n)
        EXPECT_TRUE(is_close(got_dx, dx, Doubles(dx.size(), 6 * (1 + 3 / 4.0 + 27 / 4.0)), 4 * kUlp));
        EXPECT_TRUE(is_close(got_frozen, frozen, Doubles(dx.size(), 6), 2 * kUlp));
      });
    }
  }
}

TEST(BatchNorm, PartsOfTheChannelsAndOfTheRowsGiveTheSameBits) {
  Prng prng(53);
  const BatchNormShape s{200, 50, 50}, some_channels{200, 21, 50}, some_rows{77, 50, 50};
  const Problem p(s, prng);
  for_each_table([&](const KernelTable& table) {
    std::vector<float> mean(50), inverse(50), some_mean(21), some_inverse(21), y(200 * 50), some_y(77 * 50);
    table.batch_norm_statistics(s, p.x.values.data(), kEpsilon, mean.data(), inverse.data(), nullptr);
    table.batch_norm_statistics(some_channels, p.x.values.data() + 13, kEpsilon, some_mean.data(), some_inverse.data(),
                                nullptr);
    EXPECT_TRUE(std::equal(some_mean.begin(), some_mean.end(), mean.begin() + 13));
    EXPECT_TRUE(std::equal(some_inverse.begin(), some_inverse.end(), inverse.begin() + 13));
    table.batch_norm_forward(s, p.x.values.data(), p.channels(), Activation::relu, y.data());
    table.batch_norm_forward(some_rows, p.x.values.data() + 100 * 50, p.channels(), Activation::relu, some_y.data());
    EXPECT_TRUE(std::equal(some_y.begin(), some_y.end(), y.begin() + 100 * 50));
  });
}

TEST(BatchNorm, GradientIsTheDerivativeThroughTheStatistics) {
  Prng prng(54);
  const BatchNormShape s{6, 3, 3};
  Doubles x = random(18, prng), scale = random(3, prng, 0.5, 1), bias = random(3, prng), y(18), dx(18), frozen(18);
  Doubles dscale(3), dbias(3), mean(3), inverse(3);
  const Doubles dy = random(18, prng);
  const BatchNormChannels<double> channels{mean.data(), inverse.data(), scale.data(), bias.data()};
  for (const Activation activation : kActivations) {
    const auto frozen_scalar = [&] {
      exact().batch_norm_forward(s, x.data(), channels, activation, y.data());
      return dot(dy, y);
    };
    const auto scalar = [&] {
      exact().batch_norm_statistics(s, x.data(), 0.1, mean.data(), inverse.data(), nullptr);
      return frozen_scalar();
    };
    scalar();
    exact().batch_norm_backward_parameters(s, x.data(), channels, activation, dy.data(), dscale.data(), dbias.data());
    exact().batch_norm_backward_input(s, 6, x.data(), channels, activation, dscale.data(), dbias.data(), dy.data(),
                                      dx.data());
    exact().batch_norm_backward_frozen(s, x.data(), channels, activation, dy.data(), frozen.data());
    expect_gradient("frozen x", x, frozen, frozen_scalar);
    expect_gradient("x", x, dx, scalar);
    scalar();
    expect_gradient("scale", scale, dscale, scalar);
    expect_gradient("bias", bias, dbias, scalar);
  }
}

}  // namespace
}  // namespace coterie::kernels::test
