#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/train_kernels/gradient_check.h"
#include "tests/unit/train_kernels/kernel_tester.h"

namespace coterie::kernels::test {
namespace {

constexpr double kUlp = 0x1p-23;

struct Size {
  size_t rows, features;
};
const Size kSizes[] = {{1, 2}, {3, 7}, {5, 16}, {4, 33}, {140, 64}, {2, 1000}, {1, 20000}};

TEST(LayerNorm, EqualsTheReferenceAndSoDoesRmsNorm) {
  Prng prng(70);
  for (const auto& [rows, features] : kSizes) {
    const size_t n = rows * features;
    const Operand x(n, prng, 1, 3), scale(features, prng, -2, 2), bias(features, prng), dy(n, prng);
    const Operand mean(rows, prng, 1, 3), inverse(rows, prng, 0.5, 2);
    for (const bool rms : {false, true}) {
      for (const bool affine : {true, false}) {
        Doubles y(n), means(rows), inverses(rows), dx(n);
        exact().layer_norm_forward(rows, features, x.exact.data(), affine ? scale.exact.data() : nullptr,
                                   affine ? bias.exact.data() : nullptr, 1e-3, y.data(), rms ? nullptr : means.data(),
                                   inverses.data());
        exact().layer_norm_backward_input(rows, features, x.exact.data(), affine ? scale.exact.data() : nullptr,
                                          rms ? nullptr : mean.exact.data(), inverse.exact.data(), dy.exact.data(),
                                          dx.data());
        for_each_table([&](const KernelTable& table) {
          GuardedBuffer<float> got_y(n), got_mean(rows), got_inverse(rows), got_dx(n);
          table.layer_norm_forward(rows, features, x.values.data(), affine ? scale.values.data() : nullptr,
                                   affine ? bias.values.data() : nullptr, 1e-3f, got_y.data(),
                                   rms ? nullptr : got_mean.data(), got_inverse.data());
          table.layer_norm_backward_input(rows, features, x.values.data(), affine ? scale.values.data() : nullptr,
                                          rms ? nullptr : mean.values.data(), inverse.values.data(), dy.values.data(),
                                          got_dx.data());
          // A run's sum: up to 128 additions for each lane and those of the lanes; blocks are added in
          // double.
          const double sum = gamma(std::min<double>(static_cast<double>(features), 136) + 4);
          if (!rms) {
            EXPECT_TRUE(is_close(got_mean, means, Doubles(rows, 3), sum));
          }
          EXPECT_TRUE(is_close(got_inverse, inverses, inverses, 4 * sum));
          const double largest = *std::ranges::max_element(inverses);
          EXPECT_TRUE(is_close(got_y, y, Doubles(n, 2 * 3 * largest + 1), 4 * sum));
          // inverse |scale dy| (2 + x'^2), x' up to 6
          EXPECT_TRUE(is_close(got_dx, dx, Doubles(n, 4.0 * 38), sum + 4 * kUlp));
        });
      }
    }
  }
}

TEST(LayerNorm, ParameterGradientsEqualTheReferenceForAnyPartOfTheFeatures) {
  Prng prng(71);
  for (const auto& [rows, features] : kSizes) {
    const size_t n = rows * features;
    const Operand x(n, prng, 1, 3), dy(n, prng), mean(rows, prng, 1, 3), inverse(rows, prng, 0.5, 2);
    for (const bool rms : {false, true}) {
      Doubles dscale(features), dbias(features);
      exact().layer_norm_backward_parameters(rows, features, features, x.exact.data(),
                                             rms ? nullptr : mean.exact.data(), inverse.exact.data(), dy.exact.data(),
                                             dscale.data(), dbias.data());
      for_each_table([&](const KernelTable& table) {
        GuardedBuffer<float> got_dscale(features), got_dbias(features), alone(features);
        const float* center = rms ? nullptr : mean.values.data();
        const size_t half = features / 2;
        for (const auto& [begin, end] : {std::pair{size_t{0}, half}, std::pair{half, features}}) {
          table.layer_norm_backward_parameters(rows, end - begin, features, x.values.data() + begin, center,
                                               inverse.values.data(), dy.values.data() + begin,
                                               got_dscale.data() + begin, got_dbias.data() + begin);
        }
        table.layer_norm_backward_parameters(rows, features, features, x.values.data(), center, inverse.values.data(),
                                             dy.values.data(), alone.data(), nullptr);
        EXPECT_TRUE(std::ranges::equal(alone.span(), got_dscale.span()));
        const double terms = static_cast<double>(rows), sum = gamma(std::min(terms, 256.0) + 4);
        EXPECT_TRUE(is_close(got_dscale, dscale, Doubles(features, 6 * terms), sum));
        EXPECT_TRUE(is_close(got_dbias, dbias, Doubles(features, terms), sum));
      });
    }
  }
}

TEST(LayerNorm, GradientIsTheDerivative) {
  Prng prng(72);
  const size_t rows = 3, features = 5, n = 15;
  for (const bool rms : {false, true}) {
    Doubles x = random(n, prng), scale = random(features, prng), bias = random(features, prng), y(n), dx(n);
    Doubles mean(rows), inverse(rows), dscale(features), dbias(features);
    double* means = rms ? nullptr : mean.data();
    const Doubles dy = random(n, prng);
    const auto scalar = [&] {
      exact().layer_norm_forward(rows, features, x.data(), scale.data(), bias.data(), 0.1, y.data(), means,
                                 inverse.data());
      return dot(dy, y);
    };
    scalar();
    exact().layer_norm_backward_input(rows, features, x.data(), scale.data(), means, inverse.data(), dy.data(),
                                      dx.data());
    exact().layer_norm_backward_parameters(rows, features, features, x.data(), means, inverse.data(), dy.data(),
                                           dscale.data(), dbias.data());
    expect_gradient("x", x, dx, scalar);
    expect_gradient("scale", scale, dscale, scalar);
    expect_gradient("bias", bias, dbias, scalar);
  }
}

}  // namespace
}  // namespace coterie::kernels::test
