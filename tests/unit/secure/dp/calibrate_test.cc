#include "secure/dp/account/calibrate.h"

#include <gmock/gmock.h>

#include <cmath>

#include "secure/dp/account/exact_gaussian.h"

namespace coterie {
namespace {

TEST(Calibrate, FindsTheLeastGaussianNoise) {
  for (const double target : {0.5, 8.9}) {
    const Calibration found = calibrate_noise(
                                  [](double z) {
                                    return Composition{{GaussianNoise{z}, Sampling::none(), 10}};
                                  },
                                  target, 1e-8)
                                  .value();
    const double z = found.noise_multiplier;
    EXPECT_LE(found.account.epsilon, target);
    EXPECT_LE(gaussian_epsilon(std::sqrt(10) / z, 1e-8), target);
    EXPECT_GT(gaussian_epsilon(std::sqrt(10) / (z * (1 - 2e-5)), 1e-8), target);
  }
}

TEST(Calibrate, FindsTheNoiseOfEachMechanism) {
  const Noise noises[] = {LaplaceNoise{}, DiscreteGaussianNoise{1, 5, false}, DiscreteLaplaceNoise{1, 2},
                          SkellamNoise{1, 30, 7}, DistributedGaussianNoise{8, 100, 64, 60, 10}};
  for (const Noise& noise : noises) {
    SCOPED_TRACE(mechanism_name(noise));
    const auto at = [&](double z) { return Composition{{with_multiplier(noise, z), Sampling::none(), 1}}; };
    const Calibration found = calibrate_noise(at, 2, 1e-6).value();
    EXPECT_LE(found.account.epsilon, 2);
    EXPECT_GT(account_for(at(found.noise_multiplier * (1 - 3e-5)), 1e-6).value().epsilon, 2);
  }
}

TEST(Calibrate, SaysThatATargetIsOutOfReach) {
  const auto much = [](double z) { return Composition{{SkellamNoise{z * z, 1, 1}, Sampling::none(), 1'000'000'000}}; };
  EXPECT_TRUE(calibrate_noise(much, 1, 1e-6));
  const auto more = [&](double z) { return Composition(1000, much(z).front()); };
  const auto result = calibrate_noise(more, 0.001, 1e-30);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message(), testing::HasSubstr("is not reached"));
  for (const double target : {0.0, -1.0, 1e9, std::nan("")}) EXPECT_FALSE(calibrate_noise(much, target, 1e-6));
}

TEST(Calibrate, TakesTheLeastNoiseThereIsForALooseTarget) {
  const auto at = [](double z) { return Composition{{GaussianNoise{z}}}; };
  const Calibration found = calibrate_noise(at, 1000, 0.5).value();
  EXPECT_LE(found.account.epsilon, 1000);
  EXPECT_LT(found.noise_multiplier, 0.05);
}

}  // namespace
}  // namespace coterie
