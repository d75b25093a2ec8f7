// The definition of int8 networks: vectors by hand, edges, and an oracle in 64 bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "train_kernels/int8/kernels.h"

namespace coterie::kernels::int8 {
namespace {

using testing::ElementsAre;

std::vector<int8_t> quantised(const Grid& grid, const std::vector<float>& values) {
  std::vector<int8_t> result(values.size());
  quantise(grid, values.size(), values.data(), result.data());
  return result;
}

TEST(Int8, QuantisesToNearestTiesToEvenAndSaturates) {
  // ONNX's example of QuantizeLinear: scale 2, zero 128 as uint8, here 0 as int8.
  EXPECT_THAT(quantised({.scale = 2, .zero = 0}, {0, 2, 3, 1000, -254, -1000}), ElementsAre(0, 1, 2, 127, -127, -128));
  EXPECT_THAT(quantised({.scale = 1, .zero = 0}, {.5f, 1.5f, 2.5f, -.5f, -1.5f, -2.5f}),
              ElementsAre(0, 2, 2, 0, -2, -2));
  EXPECT_THAT(quantised({.scale = .5f, .zero = -7}, {0, 1, -1, 67, 67.25f, -60.5f, -61}),
              ElementsAre(-7, -5, -9, 127, 127, -128, -128));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(quantised({.scale = .5f, .zero = 127}, {infinity, -infinity, 0, std::nanf(""), 3e38f, -3e38f, 1e-45f}),
              ElementsAre(127, -128, 127, -128, 127, -128, 127));
  EXPECT_THAT(quantised({.scale = 1, .zero = -128}, {255, 256, -1}), ElementsAre(127, 127, -128));
}

TEST(Int8, DequantisesWithOneRounding) {
  const std::vector<int8_t> values = {-128, -1, 0, 3, 127};
  std::vector<float> result(values.size());
  dequantise({.scale = .1f, .zero = 3}, values.size(), values.data(), result.data());
  EXPECT_THAT(result, ElementsAre(.1f * -131, .1f * -4, .1f * -3, 0.0f, .1f * 124));
}

TEST(Int8, ADenseLayerByHand) {
  // x - zero_in = (3, -1); outputs: 3*10 - 1*(-20) + 5 = 55; 3*(-127) - 1*127 - 2 = -510; 0 + 0 + 7.
  const std::vector<int8_t> x = {5, 1}, w = {10, -127, 0, -20, 127, 0};
  const std::vector<int32_t> bias = {5, -2, 7};
  const std::vector<float> multipliers = {.5f, .125f, .5f};
  std::vector<int8_t> y(3);
  const auto with = [&](const Target& to) {
    dense({1, 2, 3}, {w.data(), bias.data(), multipliers.data(), 2, to}, x.data(), y.data());
    return y;
  };
  EXPECT_THAT(with({}), ElementsAre(28, -64, 4));  // 27.5 to 28, -63.75 to -64, 3.5 to 4: ties go to even
  EXPECT_THAT(with({.zero = 110}), ElementsAre(127, 46, 114));
  EXPECT_THAT(with({.zero = -100}), ElementsAre(-72, -128, -96));
  EXPECT_THAT(with({.zero = -100, .low = -100, .high = -80}), ElementsAre(-80, -100, -96));  // ReLU and a bound
}

TEST(Int8, SumsAboveTwoToThe24AreRoundedOnceToFloat) {
  // 2^24 + 1 is no float32; to nearest, ties to even, it is 2^24, and 2^24 + 3 is 2^24 + 4.
  const std::vector<int8_t> x = {0}, w = {0, 0, 0};
  const std::vector<int32_t> bias = {(1 << 24) + 1, (1 << 24) + 3, std::numeric_limits<int32_t>::max()};
  const std::vector<float> multipliers = {std::ldexp(1.0f, -20), std::ldexp(1.0f, -20), std::ldexp(1.0f, -25)};
  std::vector<int8_t> y(3);
  dense({1, 1, 3}, {w.data(), bias.data(), multipliers.data(), 0, {}}, x.data(), y.data());
  EXPECT_THAT(y, ElementsAre(16, 16, 64));
}

// What a layer is by definition, in numbers that cannot overflow; the product with the multiplier is rounded once.
int8_t expected(int64_t sum, float multiplier, const Target& to) {
  const auto product =
      static_cast<float>(static_cast<double>(static_cast<float>(sum)) * static_cast<double>(multiplier));
  const double moved = std::nearbyint(static_cast<double>(product)) + to.zero;
  return static_cast<int8_t>(std::min<double>(std::max<double>(moved, to.low), to.high));
}

class Random {
 public:
  explicit Random(uint64_t seed) : chance_(seed) {}
  int below(int n) { return static_cast<int>(chance_() % static_cast<uint64_t>(n)); }
  std::vector<int8_t> bytes(size_t count, int low = -128) {
    std::vector<int8_t> values(count);
    for (int8_t& value : values) value = static_cast<int8_t>(low + below(128 - low));
    return values;
  }
  std::vector<int32_t> biases(size_t count) {
    std::vector<int32_t> values(count);
    for (int32_t& value : values) value = below(20001) - 10000;
    return values;
  }
  std::vector<float> multipliers(size_t count, size_t products) {
    std::vector<float> values(count);
    for (float& value : values)
      value = static_cast<float>(1 + below(1000)) / 1e3f / 100 / std::sqrt(static_cast<float>(products));
    return values;
  }
  Target target() {
    const auto zero = static_cast<int8_t>(below(256) - 128);
    if (below(3) != 0) return {.zero = zero};
    return {.zero = zero, .low = zero, .high = static_cast<int8_t>(zero + below(128 - zero))};
  }

 private:
  std::mt19937_64 chance_;
};

TEST(Int8, ConvolutionsAreTheirWindowsPaddedWithZero) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    Conv2dShape s{.batch = 1 + static_cast<size_t>(random.below(2)),
                  .height = 1 + static_cast<size_t>(random.below(7)),
                  .width = 1 + static_cast<size_t>(random.below(7)),
                  .channels = 0,
                  .kernel_h = 1 + static_cast<size_t>(random.below(3)),
                  .kernel_w = 1 + static_cast<size_t>(random.below(3)),
                  .filters = 0};
    s.groups = 1 + static_cast<size_t>(random.below(3));
    s.channels = s.groups * (1 + static_cast<size_t>(random.below(3)));
    s.filters = s.groups * (1 + static_cast<size_t>(random.below(3)));
    s.stride_h = 1 + static_cast<size_t>(random.below(2)), s.stride_w = 1 + static_cast<size_t>(random.below(2));
    s.dilation_h = 1 + static_cast<size_t>(random.below(2)), s.dilation_w = 1 + static_cast<size_t>(random.below(2));
    s.pad_top = static_cast<size_t>(random.below(3)), s.pad_left = static_cast<size_t>(random.below(3));
    s.pad_bottom = static_cast<size_t>(random.below(3)), s.pad_right = static_cast<size_t>(random.below(3));
    if (s.padded_h() < s.extent_h() || s.padded_w() < s.extent_w()) continue;
    const auto zero = static_cast<int8_t>(random.below(256) - 128);
    // The padded image as integers without their zero, so that the oracle knows no borders.
    const std::vector<int8_t> x = random.bytes(s.batch * s.height * s.width * s.channels);
    const std::vector<int8_t> w = random.bytes(s.taps() * s.filters, -127);
    const std::vector<int32_t> bias = random.biases(s.filters);
    const std::vector<float> multipliers = random.multipliers(s.filters, s.taps());
    const Target to = random.target();
    std::vector<int64_t> padded(s.batch * s.padded_h() * s.padded_w() * s.channels);
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t c = i % s.channels, column = i / s.channels % s.width, row = i / s.channels / s.width % s.height,
                   b = i / s.channels / s.width / s.height;
      padded[((b * s.padded_h() + row + s.pad_top) * s.padded_w() + column + s.pad_left) * s.channels + c] =
          x[i] - zero;
    }
    std::vector<int8_t> y(s.batch * s.out_h() * s.out_w() * s.filters);
    conv2d(s, {w.data(), bias.data(), multipliers.data(), zero, to}, x.data(), y.data());
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t o = i % s.filters, column = i / s.filters % s.out_w(), row = i / s.filters / s.out_w() % s.out_h(),
                   b = i / s.filters / s.out_w() / s.out_h();
      const size_t depth = s.channels / s.groups, first = o / (s.filters / s.groups) * depth;
      int64_t sum = bias[o];
      for (size_t tap = 0; tap < s.taps(); ++tap) {
        const size_t c = tap % depth, kw = tap / depth % s.kernel_w, kh = tap / depth / s.kernel_w;
        sum += padded[((b * s.padded_h() + row * s.stride_h + kh * s.dilation_h) * s.padded_w() + column * s.stride_w +
                       kw * s.dilation_w) *
                          s.channels +
                      first + c] *
               w[tap * s.filters + o];
      }
      ASSERT_EQ(y[i], expected(sum, multipliers[o], to)) << "round " << round << " element " << i;
    }
  }
}

TEST(Int8, AConvolutionOfOnePixelIsADenseLayer) {
  Random random(2);
  const std::vector<int8_t> x = random.bytes(4 * 9), w = random.bytes(9 * 5, -127);
  const std::vector<int32_t> bias = random.biases(5);
  const std::vector<float> multipliers = random.multipliers(5, 9);
  const Weighted layer{w.data(), bias.data(), multipliers.data(), 17, {.zero = -4}};
  std::vector<int8_t> y(20), other(20);
  dense({4, 9, 5}, layer, x.data(), y.data());
  conv2d({.batch = 1, .height = 2, .width = 2, .channels = 9, .kernel_h = 1, .kernel_w = 1, .filters = 5}, layer,
         x.data(), other.data());
  EXPECT_EQ(y, other);
}

TEST(Int8, Pools) {
  const std::vector<int8_t> x = {-128, 3, 5, 127, -7, 2, 0, 1, 9};  // 3 x 3
  const Pool2dShape pool{.batch = 1,
                         .height = 3,
                         .width = 3,
                         .channels = 1,
                         .kernel_h = 2,
                         .kernel_w = 2,
                         .stride_h = 2,
                         .stride_w = 2,
                         .pad_top = 1,
                         .pad_left = 1};
  std::vector<int8_t> y(4);
  max_pool2d(pool, x.data(), y.data());
  EXPECT_THAT(y, ElementsAre(-128, 5, 127, 9));
  // Real pixels alone: -128; (3 + 5) / 2; (127 + 0) / 2; (-7 + 2 + 1 + 9) / 4 = 1.25; zero_in 1 moves each mean by -1.
  average_pool2d(pool, 0, 1, {}, x.data(), y.data());
  EXPECT_THAT(y, ElementsAre(-128, 4, 64, 1));  // 63.5 to 64
  average_pool2d(pool, 1, 2, {.zero = 10, .low = 0, .high = 100}, x.data(), y.data());
  EXPECT_THAT(y, ElementsAre(0, 16, 100, 10));  // 2 * .25 = .5 to 0
}

TEST(Int8, Sums) {
  const std::vector<int8_t> a = {-128, 127, 4, 0}, b = {127, 127, -3, 1};
  std::vector<int8_t> y(4);
  add(4, {a.data(), 0, .5f}, {b.data(), 1, .25f}, {.zero = 2}, y.data());
  // -64 + 31.5 = -32.5 to -32; 63.5 + 31.5 = 95; 2 - 1 = 1; 0.
  EXPECT_THAT(y, ElementsAre(-30, 97, 3, 2));
  clamp(4, -2, 3, a.data(), y.data());
  EXPECT_THAT(y, ElementsAre(-2, 3, 3, 0));
}

// A contracted a * m + b would round once. With these numbers that shows.
TEST(Int8, ProductsAreRoundedBeforeTheyAreAdded) {
  int seen = 0;
  for (int q = -128; q < 128; ++q) {
    const std::vector<int8_t> a = {static_cast<int8_t>(q)}, b = {static_cast<int8_t>(q / 2)};
    for (const float m : {.1f, .3f, .7f, 1.0f / 3, .0501f}) {
      for (const float n : {.2f, .6f, 1.0f / 3, .9f, -.2f}) {
        std::vector<int8_t> y(1);
        add(1, {a.data(), 0, m}, {b.data(), 0, n}, {}, y.data());
        const auto left = static_cast<float>(static_cast<double>(q) * static_cast<double>(m));
        const auto right = static_cast<float>(static_cast<double>(q / 2) * static_cast<double>(n));
        const auto sum = static_cast<float>(static_cast<double>(left) + static_cast<double>(right));
        ASSERT_EQ(y[0], static_cast<int8_t>(std::min(127.0f, std::max(-128.0f, std::nearbyint(sum))))) << q;
        seen += std::fma(static_cast<float>(q), m, right) != sum;
      }
    }
  }
  EXPECT_GT(seen, 0);
}

TEST(Int8, SoftmaxIsNearTheTrueOne) {
  const std::vector<float> x = {1, -2, 3.5f, 3.5f, -200};
  std::vector<float> y(5);
  softmax(5, x.data(), y.data());
  double sum = 0;
  for (const float value : x) sum += std::exp(static_cast<double>(value) - 3.5);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], std::exp(static_cast<double>(x[i]) - 3.5) / sum, 1e-7);
  EXPECT_EQ(y[4], 0);
}

}  // namespace
}  // namespace coterie::kernels::int8
