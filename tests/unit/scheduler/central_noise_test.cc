#include "scheduler/job/central_noise.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "scheduler/job/round_release.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

HorizontalSettings noisy_settings(float clip = 1, double multiplier = 1) {
  HorizontalSettings settings;
  settings.update.clip_l2 = clip;
  settings.update.weight_max = 1;
  settings.privacy = {SecurityLevel::none, multiplier, 1e-6, 8};
  return settings;
}

std::vector<std::string> pointers_of(const HorizontalSettings& settings) {
  std::vector<std::string> pointers;
  for (const Problem& problem : validate(settings)) pointers.push_back(problem.pointer);
  return pointers;
}

TEST(PrivacySettings, AreCheckedAsAWhole) {
  EXPECT_THAT(validate(noisy_settings()), IsEmpty());
  HorizontalSettings settings = noisy_settings(0, 1e9);
  settings.update.weight_max = 7;
  settings.privacy.level = SecurityLevel::masked;
  settings.privacy.target_delta = 0;
  settings.privacy.epsilon_budget = 0;
  EXPECT_THAT(pointers_of(settings),
              ElementsAre("/privacy/noise_multiplier", "/privacy/noise_multiplier", "/privacy/target_delta",
                          "/privacy/epsilon_budget", "/update/clip_l2", "/update/weight_max"));
}

TEST(PrivacySettings, PromiseNothingWithoutNoise) {
  HorizontalSettings settings = noisy_settings(0, 0);
  settings.update.weight_max = 100;
  EXPECT_THAT(pointers_of(settings), ElementsAre("/privacy/target_delta", "/privacy/epsilon_budget"));
  settings.privacy = {};
  EXPECT_THAT(validate(settings), IsEmpty());
}

HorizontalSettings tree_settings() {
  HorizontalSettings settings = noisy_settings();
  settings.rounds.count = 2000;
  settings.rounds.separation_min = 400;
  settings.privacy.mechanism = NoiseMechanism::tree;
  return settings;
}

TEST(PrivacySettings, TakeATreeWhereItsNoiseLeavesTheModelAndDevicesAreApart) {
  EXPECT_THAT(validate(tree_settings()), IsEmpty());
  for (const StrategyRule* rule : strategies()) {
    HorizontalSettings settings = tree_settings();
    settings.strategy = StrategySettings::of(rule->name);
    const bool fits = std::string(rule->name) == "fedavg" || std::string(rule->name) == "fedavgm";
    EXPECT_EQ(validate(settings).empty(), fits) << rule->name;
    if (!fits) EXPECT_THAT(validate(settings)[0].detail, testing::StartsWith(rule->name));
  }
  for (const uint32_t separation_min : {0u, 1u}) {
    HorizontalSettings settings = tree_settings();
    settings.rounds.separation_min = separation_min;
    EXPECT_THAT(pointers_of(settings), ElementsAre("/rounds/separation_min"));
  }
  HorizontalSettings quiet = tree_settings();
  quiet.privacy = {.level = SecurityLevel::none, .mechanism = NoiseMechanism::tree};
  EXPECT_THAT(pointers_of(quiet), ElementsAre("/privacy/mechanism"));
  HorizontalSettings of_devices = tree_settings();
  of_devices.privacy.level = SecurityLevel::active_dp;
  EXPECT_THAT(pointers_of(of_devices), testing::Contains("/privacy/mechanism"));
}

// The figure of docs/operating/privacy.md: 2,000 rounds at z = 7, separation 400, delta 1e-10.
TEST(CentralNoise, OfATreeCostsWhatTheAccountantSays) {
  HorizontalSettings settings = tree_settings();
  settings.privacy = {SecurityLevel::none, 7, 1e-10, 8};
  settings.privacy.mechanism = NoiseMechanism::tree;
  const double of_job = account_of({{release_of(settings, 100'000), 1}}, 1e-10)->epsilon;
  const TreeNoise tree = tree_noise({2000, 400, Participation::separated}, 7).value();
  const double of_tree = account_for({{tree, Sampling::none(), 1}}, 1e-10)->epsilon;
  EXPECT_GE(of_job, of_tree * (1 - 1e-12));
  EXPECT_NEAR(of_job, of_tree, 1e-6);
  EXPECT_NEAR(of_job, 7.52, 0.005);
  settings.privacy.mechanism = NoiseMechanism::independent;
  EXPECT_GT(account_of({{release_of(settings, 100'000), 2000}}, 1e-10)->epsilon, 60);
}

TEST(PrivacySettings, AreFinite) {
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (double PrivacySettings::*field :
         {&PrivacySettings::noise_multiplier, &PrivacySettings::target_delta, &PrivacySettings::epsilon_budget}) {
      HorizontalSettings settings = noisy_settings();
      settings.privacy.*field = bad;
      EXPECT_FALSE(validate(settings).empty()) << bad;
    }
  }
}

// The norm of what one update adds to the integer sum, the worst of many, against the bound.
TEST(CentralNoise, HidesEveryUpdateTheServerTakes) {
  constexpr size_t kValues = 2000;
  for (const float clip : {1e-3f, 1.0f, 300.0f}) {
    const CentralNoise noise = central_noise_of(noisy_settings(clip, 30), kValues).value();
    double worst = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Prng prng(seed);
      std::vector<double> values(kValues);
      double squares = 0;
      for (double& value : values) {
        // On the edges of rounding, where it moves most, but for one in four updates.
        value = seed % 4 == 0 ? prng.normal() : std::floor(prng.uniform(-3, 3)) + 0.5 + 1e-9;
        squares += value * value;
      }
      const double scale =
          seed % 4 == 0 ? norm_max_of(clip) / std::sqrt(squares) : std::ldexp(1, -int(noise.fraction_bits));
      double lane_squares = 0, value_squares = 0;
      for (const double value : values) {
        value_squares += value * scale * value * scale;
        lane_squares += std::pow(std::nearbyint(std::ldexp(value * scale, static_cast<int>(noise.fraction_bits))), 2);
        EXPECT_LE(std::fabs(value * scale), seed % 4 == 0 ? static_cast<double>(noise.value_abs_max) : 1e9);
      }
      if (std::sqrt(value_squares) > norm_max_of(clip)) continue;
      worst = std::max(worst, std::sqrt(lane_squares));
    }
    EXPECT_LE(worst, noise.l2_sensitivity);
    EXPECT_GT(worst, noise.l2_sensitivity * 0.9) << "the bound is not far from the truth";
    EXPECT_GE(noise.sigma, 30 * noise.l2_sensitivity);
  }
}

TEST(CentralNoise, TakesTheFinestGridItsSamplerCanFill) {
  for (const float clip : {0.01f, 1.0f, 7.5f}) {
    for (const double multiplier : {0.3, 1.0, 5.0}) {
      const CentralNoise noise = central_noise_of(noisy_settings(clip, multiplier), 1 << 16).value();
      EXPECT_LE(noise.sigma, kNoiseSigmaMax);
      EXPECT_GT(noise.sigma, kNoiseSigmaMax / 2 * 0.9);
      EXPECT_LT(noise.inflation, 1.03);
    }
  }
}

// 1.0009765625 * 2^15 + sqrt(10000) / 2 = 32850 steps, by hand.
TEST(CentralNoise, IsWhatTheHeaderSays) {
  const CentralNoise noise = central_noise_of(noisy_settings(1, 1), 10'000).value();
  EXPECT_EQ(noise.fraction_bits, 15u);
  EXPECT_NEAR(noise.l2_sensitivity, 32850, 1e-6);
  EXPECT_NEAR(noise.sigma, std::sqrt(32850.0 * 32850 + kRounded), 1e-6);
}

TEST(CentralNoise, SaysThatNoGridWillDo) {
  EXPECT_ERROR(central_noise_of(noisy_settings(1e9f, 1), 100), ErrorCode::invalid_argument, "lower update.clip_l2");
  EXPECT_ERROR(central_noise_of(noisy_settings(1, 10'000), 1ull << 40), ErrorCode::invalid_argument, "coarsest");
  EXPECT_ERROR(central_noise_of(noisy_settings(1e-20f, 1), 100), ErrorCode::invalid_argument, "raise update.clip_l2");
}

TEST(PlanOf, SumsOnTheGridOfTheNoise) {
  HorizontalSettings settings = noisy_settings(2, 1);
  const Plan plan = plan_of(settings, JobId("j"), 5'000);
  const CentralNoise noise = central_noise_of(settings, 5'000).value();
  EXPECT_OK(validate(plan));
  EXPECT_EQ(plan.update.fixed_point.fraction_bits, noise.fraction_bits);
  EXPECT_EQ(plan.update.fixed_point.value_abs_max, noise.value_abs_max);
  EXPECT_EQ(plan.update.fixed_point.weight_max, 1u);
  EXPECT_EQ(plan.update.clip_l2, 2);
}

TEST(PlanOf, WithNoiseIsValidWheneverThereIsAGrid) {
  size_t grids = 0;
  for (uint64_t seed = 1; seed <= 3'000; ++seed) {
    Prng prng(seed);
    HorizontalSettings settings =
        noisy_settings(static_cast<float>(std::exp(prng.uniform(-40, 21))), std::exp(prng.uniform(-5, 10)));
    const uint64_t values = 1 + prng.below(1ull << (1 + prng.below(32)));
    if (!validate(settings).empty()) continue;
    if (!central_noise_of(settings, values)) continue;
    ++grids;
    EXPECT_OK(validate(plan_of(settings, JobId("j"), values))) << "seed " << seed;
  }
  EXPECT_GT(grids, 500u);
}

}  // namespace
}  // namespace coterie
