#include "device_sdk/runtime/random_box.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace coterie {
namespace {

TEST(RandomBox, HasItsAreaAndRatio) {
  Prng random(7);
  double least = 1, most = 0;
  for (int i = 0; i < 2000; ++i) {
    const ImageBox box = random_resized_box(random, {100, 80}, 0.08f, 1);
    ASSERT_LE(box.top + box.height, 100u);
    ASSERT_LE(box.left + box.width, 80u);
    const double area = static_cast<double>(box.height * box.width) / 8000;
    const double ratio = static_cast<double>(box.width) / static_cast<double>(box.height);
    EXPECT_GT(ratio, 0.75 * 0.9);
    EXPECT_LT(ratio, 4.0 / 3 * 1.1);
    least = std::min(least, area), most = std::max(most, area);
  }
  EXPECT_LT(least, 0.1);
  EXPECT_GT(most, 0.9);
}

// torchvision's fallback: the largest in the middle whose ratio is allowed.
TEST(RandomBox, ThatFitsNowhereIsTheMiddle) {
  Prng random(7);
  const ImageBox wide = random_resized_box(random, {3, 300}, 1, 1);
  EXPECT_EQ(wide.height, 3u);
  EXPECT_EQ(wide.width, 4u);
  EXPECT_EQ(wide.left, 148u);
  const ImageBox high = random_resized_box(random, {300, 3}, 1, 1);
  EXPECT_EQ(high.height, 4u);
  EXPECT_EQ(high.width, 3u);
}

// Mean 1/2 and variance 1 / (4 (2 alpha + 1)).
TEST(RandomBox, BetaHasItsMoments) {
  for (const double alpha : {0.2, 1.0, 8.0}) {
    Prng random(3);
    constexpr int kDraws = 20000;
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = beta_symmetric(random, alpha);
      ASSERT_TRUE(x >= 0 && x <= 1) << x;
      sum += x, squares += (x - 0.5) * (x - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.015) << alpha;
    EXPECT_NEAR(squares / kDraws, 1 / (4 * (2 * alpha + 1)), 0.006) << alpha;
  }
  Prng random(3);
  for (int i = 0; i < 100; ++i) {
    const double x = beta_symmetric(random, 1e-4);
    EXPECT_TRUE(x >= 0 && x <= 1) << "rounds to 0 or 1, and is never NaN: " << x;
  }
}

TEST(RandomBox, OfCutmixHasItsAreaAwayFromTheBorder) {
  Prng random(5);
  bool is_whole_seen = false;
  for (int i = 0; i < 500; ++i) {
    const ImageBox box = cutmix_box(random, {40, 40}, 0.75);  // sides of 20
    ASSERT_LE(box.top + box.height, 40u);
    ASSERT_LE(box.left + box.width, 40u);
    EXPECT_LE(box.height, 20u);
    is_whole_seen = is_whole_seen || (box.height == 20 && box.width == 20);
  }
  EXPECT_TRUE(is_whole_seen);
  EXPECT_EQ(cutmix_box(random, {40, 40}, 1).height, 0u);
}

}  // namespace
}  // namespace coterie
