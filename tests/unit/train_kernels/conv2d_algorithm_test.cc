#include "train_kernels/conv2d_algorithm.h"

#include <gtest/gtest.h>

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
      for (const size_t batch : {2, 8, 100})
        EXPECT_EQ(conv2d_algorithm(three(batch, size, channels, 64)), one);
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

TEST(Conv2dAlgorithm, HasAName) {
  EXPECT_EQ(name_of(Conv2dAlgorithm::winograd_4x4), "winograd 4x4");
  EXPECT_EQ(name_of(Conv2dAlgorithm::direct), "direct");
}

}  // namespace
}  // namespace coterie::kernels
