#include "train_kernels/conv2d_algorithm.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "tests/bench/conv2d_regret.h"

namespace coterie::kernels {
namespace {

Conv2dShape three(size_t batch, size_t size, size_t channels, size_t filters, size_t stride = 1) {
  return {batch, size, size, channels, 3, 3, filters, stride, stride, 1, 1, 1, 1};
}

TEST(Conv2dAlgorithm, IsChosenByTheShape) {
  EXPECT_EQ(conv2d_algorithm({1, 8, 8, 16, 1, 1, 32}), Conv2dAlgorithm::dense);
  EXPECT_EQ(conv2d_algorithm({1, 8, 8, 16, 3, 3, 16, 1, 1, 1, 1, 1, 1, 16}), Conv2dAlgorithm::depthwise);
  EXPECT_EQ(conv2d_algorithm({1, 28, 28, 32, 5, 5, 64}), Conv2dAlgorithm::direct);
  EXPECT_EQ(conv2d_algorithm(three(1, 56, 64, 128, 2)), Conv2dAlgorithm::direct);
  EXPECT_EQ(conv2d_algorithm(three(1, 224, 3, 64)), Conv2dAlgorithm::direct);
  EXPECT_EQ(conv2d_algorithm(three(1, 56, 64, 64)), Conv2dAlgorithm::winograd_4x4);
  EXPECT_EQ(conv2d_algorithm(three(1, 6, 128, 128)),
            Conv2dAlgorithm::winograd_2x2);  // 4 x 4 tiles would overhang
}

TEST(Conv2dAlgorithm, DoesNotDependOnTheBatch) {
  for (const size_t size : {4, 7, 14, 32}) {
    for (const size_t channels : {16, 48, 512}) {
      const Conv2dAlgorithm one = conv2d_algorithm(three(1, size, channels, 64));
      for (const size_t batch : {2, 8, 100}) EXPECT_EQ(conv2d_algorithm(three(batch, size, channels, 64)), one);
    }
  }
}

TEST(Conv2dAlgorithm, KeepsTheTransformedWeightsWithinTheLimit) {
  const Conv2dShape s = three(1, 56, 64, 64);
  constexpr size_t kWeights = 64 * 64 * sizeof(float);
  EXPECT_EQ(conv2d_algorithm(s, 36 * kWeights), Conv2dAlgorithm::winograd_4x4);
  EXPECT_EQ(conv2d_algorithm(s, 36 * kWeights - 1), Conv2dAlgorithm::winograd_2x2);
  EXPECT_EQ(conv2d_algorithm(s, 16 * kWeights - 1), Conv2dAlgorithm::direct);
}

Conv2dShape large(size_t batch, size_t size, size_t channels, size_t filters, size_t kernel, size_t groups = 1) {
  const size_t pad = kernel / 2;
  return {batch, size, size, channels, kernel, kernel, filters, 1, 1, pad, pad, pad, pad, groups};
}

TEST(Conv2dAlgorithm, LargeKernelsAreTransformed) {
  EXPECT_EQ(conv2d_algorithm(large(1, 56, 16, 16, 11)), Conv2dAlgorithm::fft);
  EXPECT_EQ(conv2d_algorithm(large(8, 56, 16, 16, 11)), Conv2dAlgorithm::fft);
  EXPECT_EQ(conv2d_algorithm(large(1, 56, 128, 128, 31, 128)), Conv2dAlgorithm::fft);
  EXPECT_TRUE(gradient_is_fft(large(1, 56, 128, 128, 31, 128)));
  EXPECT_EQ(fft_size(large(1, 56, 128, 128, 31, 128)), 96);  // one tile
}

TEST(Conv2dAlgorithm, OthersWithLargeKernelsAreNot) {
  EXPECT_EQ(conv2d_algorithm(large(1, 56, 96, 96, 7, 96)), Conv2dAlgorithm::depthwise);  // 49 products cost less
  EXPECT_EQ(conv2d_algorithm(large(1, 28, 32, 64, 5)), Conv2dAlgorithm::direct);
  EXPECT_EQ(conv2d_algorithm(large(1, 32, 16, 16, 11, 2)), Conv2dAlgorithm::direct);  // groups
  Conv2dShape strided = large(1, 224, 3, 64, 7);
  strided.stride_h = strided.stride_w = 2;
  EXPECT_EQ(conv2d_algorithm(strided), Conv2dAlgorithm::direct);
  EXPECT_FALSE(gradient_is_fft(strided));
  Conv2dShape dilated = large(1, 56, 16, 16, 11);
  dilated.dilation_w = 2;
  EXPECT_EQ(conv2d_algorithm(dilated), Conv2dAlgorithm::direct);
}

TEST(Conv2dAlgorithm, KeepsTransformedKernelsWithinTheLimit) {
  for (const size_t channels : {16, 64, 128, 512}) {
    const Conv2dShape s = large(1, 56, channels, channels, 9);
    if (const size_t size = fft_size(s); size != 0) {
      EXPECT_LE(fft_weight_bytes(s, size), kFftWeightBytesMax);
    }
  }
  EXPECT_EQ(conv2d_algorithm(large(1, 56, 512, 512, 9)), Conv2dAlgorithm::direct);
}

TEST(Conv2dAlgorithm, HasAName) {
  EXPECT_EQ(name_of(Conv2dAlgorithm::fft), "fft");
  EXPECT_EQ(name_of(Conv2dAlgorithm::winograd_4x4), "winograd 4x4");
  EXPECT_EQ(name_of(Conv2dAlgorithm::direct), "direct");
}

TEST(Conv2dAlgorithm, AMeasurementTakesEachWayThatMayCompute) {
  const Conv2dShape small = three(1, 4, 8, 8), wide = large(1, 56, 16, 16, 11);
  EXPECT_EQ(conv2d_algorithm(small), Conv2dAlgorithm::direct);
  measured_algorithm = Conv2dAlgorithm::winograd_4x4;
  EXPECT_EQ(conv2d_algorithm(small), Conv2dAlgorithm::winograd_4x4);
  EXPECT_EQ(conv2d_algorithm(wide), Conv2dAlgorithm::fft) << "it has no such tiles";
  measured_algorithm = Conv2dAlgorithm::direct;
  EXPECT_EQ(conv2d_algorithm(wide), Conv2dAlgorithm::direct);
  EXPECT_FALSE(fft_pays(wide));
  measured_algorithm.reset();
}

TEST(Conv2dRegret, ShapesHaveAChoiceAndFollowTheSeed) {
  const auto shapes = bench::drawn_shapes(200, 1), again = bench::drawn_shapes(200, 1),
             others = bench::drawn_shapes(200, 2);
  const auto key = [](const Conv2dShape& s) {
    return std::tuple(s.batch, s.height, s.channels, s.kernel_h, s.filters, s.stride_h, s.groups);
  };
  EXPECT_TRUE(std::ranges::equal(shapes, again, {}, key, key));
  EXPECT_FALSE(std::ranges::equal(shapes, others, {}, key, key));
  std::set<Conv2dAlgorithm> chosen;
  for (const Conv2dShape& s : shapes) {
    const auto ways = bench::algorithms_of(s);
    EXPECT_GE(ways.size(), 2u);
    EXPECT_TRUE(std::ranges::find(ways, conv2d_algorithm(s)) != ways.end()) << "what is chosen may compute it";
    chosen.insert(conv2d_algorithm(s));
  }
  EXPECT_GE(chosen.size(), 4u);
}

TEST(Conv2dRegret, IsTheTimeBeyondTheFastestWay) {
  using enum Conv2dAlgorithm;
  const bench::Timed timed[] = {{direct, 3}, {winograd_2x2, 2}, {winograd_4x4, 2.5}};
  bench::Regret regret;
  regret.add(bench::regret_of(winograd_4x4, timed));
  regret.add(bench::regret_of(winograd_2x2, timed));
  EXPECT_DOUBLE_EQ(regret.largest, .25);
  EXPECT_DOUBLE_EQ(regret.mean, .125);
  EXPECT_EQ(regret.shapes, 2u);
  EXPECT_EQ(regret.best_chosen, 1u);
}

}  // namespace
}  // namespace coterie::kernels
