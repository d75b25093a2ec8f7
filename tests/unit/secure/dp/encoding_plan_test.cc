#include "secure/dp/encode/encoding_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "secure/dp/noise/noise_table.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using test::fails_with;
using test::is_ok;

EncodingGoal goal(uint32_t contributors, uint64_t dimension, double noise_multiplier) {
  return {.dimension = dimension,
          .contributors_max = contributors,
          .honest_min = contributors,
          .clip_norm = 1,
          .noise_multiplier = noise_multiplier};
}

EncodingGoal at_scale(EncodingGoal goal, uint32_t fraction_bits) {
  goal.fraction_bits = fraction_bits;
  return goal;
}

// The cases of secure aggregation's design, section 3.4: contributors, scale, dimension, and the inflation that
// min((D + sqrt d)^2, D^2 + d / 4 + D + sqrt(d) / 2) gives, worked out by another program.
TEST(EncodingPlan, SaysWhatRoundingInflates) {
  struct Case {
    uint32_t contributors, fraction_bits;
    uint64_t dimension;
    double inflation;
  };
  for (const Case& c : {Case{1000, 10, 1 << 20, 1.1186888949792968},
                        {1000, 8, 1 << 16, 1.1206513173150692},
                        {1000, 12, 1 << 20, 1.0079184779550006},
                        {1000, 9, 1 << 16, 1.031959982872398}}) {
    const auto plan = choose_scale_and_bits(at_scale(goal(c.contributors, c.dimension, 1), c.fraction_bits));
    ASSERT_TRUE(is_ok(plan));
    EXPECT_NEAR(plan->inflation, c.inflation, 1e-12);
    EXPECT_EQ(plan->spec.fraction_bits, c.fraction_bits);
  }
  for (const Case& c : {Case{100, 6, 1 << 20, 8.070974228678963}, {1000, 7, 1 << 16, 1.4197270864500684}}) {
    EncodingGoal coarse = at_scale(goal(c.contributors, c.dimension, 1), c.fraction_bits);
    EXPECT_TRUE(
        fails_with(choose_scale_and_bits(coarse), ErrorCode::invalid_argument, std::to_string(c.inflation) + " times"));
    coarse.any_inflation = true;
    const auto plan = choose_scale_and_bits(coarse);
    ASSERT_TRUE(is_ok(plan));
    EXPECT_NEAR(plan->inflation, c.inflation, 1e-12);
  }
}

TEST(EncodingPlan, ChoosesTheCoarsestScaleThatInflatesLittle) {
  for (const uint64_t dimension : {10ull, 1000ull, 1ull << 16, 1ull << 20, 10'000'000ull}) {
    const auto plan = choose_scale_and_bits(goal(1000, dimension, 1));
    ASSERT_TRUE(is_ok(plan)) << dimension;
    EXPECT_LE(plan->inflation, kInflationTarget);
    const auto coarser = choose_scale_and_bits(at_scale(goal(1000, dimension, 1), plan->spec.fraction_bits - 1));
    EXPECT_TRUE(!coarser || coarser->inflation > kInflationTarget) << dimension;
  }
  EXPECT_EQ(choose_scale_and_bits(goal(1000, 1 << 20, 1))->spec.fraction_bits, 11u);
}

TEST(EncodingPlan, DividesTheNoiseAmongTheHonest) {
  EncodingGoal some = at_scale(goal(1000, 1 << 20, 2), 10);
  some.honest_min = 600;
  const auto plan = choose_scale_and_bits(some);
  ASSERT_TRUE(is_ok(plan));
  EXPECT_NEAR(plan->sensitivity, std::sqrt(1312256.0), 1e-9);
  EXPECT_NEAR(plan->local_variance, 4 * 1312256.0 / 600, 1e-6);
}

// A sum of 1000 updates of norm 1024 that rotate, or not; with noise of sigma 1146 in all. The bounds are those of the
// header, worked out by another program.
TEST(EncodingPlan, TakesAsManyBitsAsASumNeeds) {
  struct Case {
    bool rotated;
    double noise_multiplier, sum_bound;
    uint32_t ring_bits;
  };
  for (const Case& c : {Case{true, 0, 75168.238, 18},
                        {true, 1, 85788.577, 18},
                        {false, 0, 1145548.884, 22},
                        {false, 1, 1156169.223, 22}}) {
    EncodingGoal g = at_scale(goal(1000, 1 << 20, c.noise_multiplier), 10);
    g.rotated = c.rotated;
    const auto plan = choose_scale_and_bits(g);
    ASSERT_TRUE(is_ok(plan));
    EXPECT_EQ(plan->spec.ring_bits, c.ring_bits) << plan->sum_bound;
    EXPECT_GT(std::ldexp(1, static_cast<int>(c.ring_bits) - 1), plan->sum_bound);
    EXPECT_LE(std::ldexp(1, static_cast<int>(c.ring_bits) - 2), plan->sum_bound);
    EXPECT_NEAR(plan->sum_bound, c.sum_bound, c.sum_bound * 1e-6);
  }
}

// The sum's noise is Skellam, too: its table has every tail.
TEST(EncodingPlan, TheNoiseWrapsNoMoreOftenThanItSays) {
  for (const double multiplier : {0.01, 0.5, 3.0}) {
    EncodingGoal g = at_scale(goal(50, 100, multiplier), 6);
    g.rotated = false;
    const auto plan = choose_scale_and_bits(g);
    ASSERT_TRUE(is_ok(plan));
    const double noise_bound = plan->sum_bound / (1 + 1e-5) - 50 * plan->sensitivity;
    const NoiseTable table = make_noise_table(NoiseKind::skellam, 50 * plan->local_variance, NoiseWord::bits64);
    const auto at = static_cast<size_t>(noise_bound);  // P(|X| > at) = P(|X| >= at + 1)
    const double tail = at < table.high.size() ? std::ldexp(static_cast<double>(table.high[at]), -63) : 0;
    EXPECT_LE(100 * tail, kWrapProbabilityMax / 2);
    const double nearer = std::ldexp(static_cast<double>(table.high[static_cast<size_t>(noise_bound * 0.7)]), -63);
    EXPECT_GT(100 * nearer, kWrapProbabilityMax / 2) << "the bound is much too wide";
  }
}

TEST(EncodingPlan, TakesWiderLanesForWeights) {
  EncodingGoal g = goal(1000, 1 << 16, 0);
  g.weight_max = 10'000;
  const auto plan = choose_scale_and_bits(g);
  ASSERT_TRUE(is_ok(plan));
  EXPECT_GT(std::ldexp(1, static_cast<int>(plan->spec.ring_bits) - 1), 1000.0 * 10'000);
  g.noise_multiplier = 1;
  EXPECT_TRUE(fails_with(choose_scale_and_bits(g), ErrorCode::invalid_argument, "with noise weight_max must be 1"));
}

TEST(EncodingPlan, RefusesNoiseThatTheSamplerDoesNotHave) {
  EncodingGoal g = at_scale(goal(10, 1000, 10), 14);
  EXPECT_TRUE(fails_with(choose_scale_and_bits(g), ErrorCode::invalid_argument, "the sampler has"));
  g = at_scale(goal(1000, 100, 0.1), 8);
  g.noise_kind = NoiseKind::discrete_gaussian;
  EXPECT_TRUE(fails_with(choose_scale_and_bits(g), ErrorCode::invalid_argument, "take Skellam"));
  g.noise_kind = NoiseKind::skellam;
  EXPECT_TRUE(is_ok(choose_scale_and_bits(g)));
}

TEST(EncodingPlan, RefusesGoalsOutOfRange) {
  const auto refuses = [](EncodingGoal g, std::string_view why) {
    return fails_with(choose_scale_and_bits(g), ErrorCode::invalid_argument, why);
  };
  EncodingGoal good = goal(100, 1000, 1);
  ASSERT_TRUE(is_ok(choose_scale_and_bits(good)));
  EncodingGoal g = good;
  g.dimension = 0;
  EXPECT_TRUE(refuses(g, "the dimension must be in"));
  g.dimension = (uint64_t{1} << 31) + 1;
  EXPECT_TRUE(refuses(g, "the dimension must be in"));
  g = good;
  g.honest_min = 101;
  EXPECT_TRUE(refuses(g, "honest_min must be in"));
  g.honest_min = 0;
  EXPECT_TRUE(refuses(g, "honest_min must be in"));
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
    g = good;
    g.noise_multiplier = bad;
    EXPECT_TRUE(refuses(g, "noise_multiplier must be finite"));
    g = good;
    g.clip_norm = bad;
    EXPECT_TRUE(refuses(g, "clip_norm must be finite"));
  }
  g = good;
  g.weight_max = 0;
  g.noise_multiplier = 0;
  EXPECT_TRUE(refuses(g, "weight_max must be in"));
  g = good;
  g.clip_norm = 1e12;
  EXPECT_TRUE(refuses(g, "must be at most 2^30"));
  EXPECT_TRUE(refuses(at_scale(good, 31), "fraction_bits must be at most 30"));
}

}  // namespace
}  // namespace coterie
