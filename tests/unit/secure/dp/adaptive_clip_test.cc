#include "secure/dp/encode/adaptive_clip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using test::fails_with;

TEST(AdaptiveClip, FollowsTheRule) {
  AdaptiveClip clip = *AdaptiveClip::make({.clip_norm_initial = 1, .quantile = 0.5, .learning_rate = 0.2});
  ASSERT_TRUE(test::is_ok(clip.step(100, 100)));
  EXPECT_DOUBLE_EQ(clip.clip_norm(), std::exp(-0.1));
  ASSERT_TRUE(test::is_ok(clip.step(0, 100)));
  EXPECT_DOUBLE_EQ(clip.clip_norm(), 1);
  ASSERT_TRUE(test::is_ok(clip.step(25, 100)));
  EXPECT_DOUBLE_EQ(clip.clip_norm(), std::exp(0.05));
}

TEST(AdaptiveClip, FindsTheQuantileOfNormsDespiteNoise) {
  for (const double quantile : {0.2, 0.5, 0.9}) {
    AdaptiveClip clip = *AdaptiveClip::make({.clip_norm_initial = 0.1, .quantile = quantile});
    Prng prng(9);
    constexpr uint64_t kContributors = 200;
    double mean_log = 0;
    for (int round = 0; round < 400; ++round) {
      double unclipped = kContributors / 20.0 * prng.normal();
      for (uint64_t i = 0; i < kContributors; ++i) unclipped += std::exp(prng.normal()) <= clip.clip_norm() ? 1 : 0;
      ASSERT_TRUE(test::is_ok(clip.step(unclipped, kContributors)));
      if (round >= 200) mean_log += std::log(clip.clip_norm()) / 200;
    }
    // The share of log-normal norms below the clip norm.
    EXPECT_NEAR(std::erfc(-mean_log / std::sqrt(2)) / 2, quantile, 0.04);
  }
}

TEST(AdaptiveClip, StaysInItsRangeAndMovesByABoundedStep) {
  AdaptiveClip clip = *AdaptiveClip::make({.clip_norm_initial = 1, .quantile = 0.5, .learning_rate = 1});
  ASSERT_TRUE(test::is_ok(clip.step(-1e300, 1)));
  EXPECT_DOUBLE_EQ(clip.clip_norm(), std::exp(0.5));
  ASSERT_TRUE(test::is_ok(clip.step(1e300, 1)));
  EXPECT_DOUBLE_EQ(clip.clip_norm(), 1);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(test::is_ok(clip.step(0, 1)));
  EXPECT_EQ(clip.clip_norm(), kClipNormMax);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(test::is_ok(clip.step(1, 1)));
  EXPECT_EQ(clip.clip_norm(), kClipNormMin);
}

TEST(AdaptiveClip, RefusesARoundThatSaysNothing) {
  AdaptiveClip clip = *AdaptiveClip::make({});
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(fails_with(clip.step(bad, 10), ErrorCode::invalid_argument, "the clip norm stays"));
  }
  EXPECT_TRUE(fails_with(clip.step(0, 0), ErrorCode::invalid_argument, "the clip norm stays"));
  EXPECT_EQ(clip.clip_norm(), 0.1);
}

TEST(AdaptiveClip, RefusesOptionsOutOfRange) {
  const double nan = std::nan("");
  for (const AdaptiveClipOptions& bad : {AdaptiveClipOptions{.clip_norm_initial = 0},
                                         {.clip_norm_initial = nan},
                                         {.clip_norm_initial = 1e13},
                                         {.quantile = -0.1},
                                         {.quantile = 1.1},
                                         {.quantile = nan},
                                         {.learning_rate = 0},
                                         {.learning_rate = 1.5},
                                         {.learning_rate = nan}}) {
    EXPECT_TRUE(fails_with(AdaptiveClip::make(bad), ErrorCode::invalid_argument, "must be in"));
  }
}

TEST(AdaptiveClip, SharesThePrivacyBetweenUpdatesAndBits) {
  EXPECT_NEAR(*update_noise_multiplier(1, 10), 1.001252349, 1e-9);
  EXPECT_NEAR(*update_noise_multiplier(1, 5), 1.005037815, 1e-9);
  EXPECT_NEAR(*update_noise_multiplier(0.5, 2), 0.503952631, 1e-9);
  EXPECT_TRUE(fails_with(update_noise_multiplier(1, 0.5), ErrorCode::invalid_argument, "raise bits_sigma"));
  EXPECT_TRUE(fails_with(update_noise_multiplier(0, 5), ErrorCode::invalid_argument, "must be finite and > 0"));
  EXPECT_TRUE(fails_with(update_noise_multiplier(std::nan(""), 5), ErrorCode::invalid_argument, "finite"));
  EXPECT_TRUE(fails_with(update_noise_multiplier(1, std::nan("")), ErrorCode::invalid_argument, "raise"));
}

}  // namespace
}  // namespace coterie
