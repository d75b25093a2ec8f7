#include "secure/dp/account/account.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/random.h"

namespace coterie {
namespace {

using testing::Contains;
using testing::HasSubstr;

Sampling poisson(double rate) { return Sampling::assume_poisson(rate, "the plan").value(); }

TEST(Account, NamesTheLeastValidBound) {
  const PrivacyAccount gaussian = account_for({{GaussianNoise{2}, Sampling::none(), 3}}, 1e-6).value();
  EXPECT_EQ(gaussian.method, "exact");
  EXPECT_EQ(gaussian.epsilon, *gaussian.exact.epsilon);
  const PrivacyAccount sampled = account_for({{GaussianNoise{2}, poisson(0.1), 3}}, 1e-6).value();
  EXPECT_EQ(sampled.method, "pld");
  EXPECT_FALSE(sampled.exact.epsilon);
  const PrivacyAccount skellam = account_for({{SkellamNoise{400, 10, 4}, Sampling::none(), 3}}, 1e-6).value();
  EXPECT_EQ(skellam.method, "rdp");
  EXPECT_THAT(skellam.pld.note, HasSubstr("Skellam"));
}

TEST(Account, SaysWhatItRestsOn) {
  const PrivacyAccount sampled = account_for({{GaussianNoise{2}, poisson(0.1), 3}}, 1e-6).value();
  EXPECT_THAT(sampled.assumptions, Contains(HasSubstr("add or remove")));
  EXPECT_THAT(sampled.assumptions, Contains(HasSubstr("rate 0.1, assumed by the plan, seen by nobody")));
  const Sampling drawn = Sampling::assume_without_replacement(5, 50, "the plan").value();
  EXPECT_THAT(account_for({{GaussianNoise{2}, drawn, 3}}, 1e-6).value().assumptions,
              Contains(HasSubstr("replace one")));
  EXPECT_THAT(account_for({{GaussianNoise{2}}}, 1e-6).value().assumptions, Contains(HasSubstr("none is claimed")));
  EXPECT_THAT(account_for({{DiscreteGaussianNoise{4, 1, true}}}, 1e-6).value().assumptions,
              Contains(HasSubstr("one whole number")));
}

TEST(Account, RefusesWhatNoAccountantKnows) {
  const auto account = account_for({{SkellamNoise{}, poisson(0.1), 3}}, 1e-6);
  ASSERT_FALSE(account);
  EXPECT_THAT(account.error().message(), HasSubstr("no accountant has a bound"));
}

TEST(Account, RefusesWhatIsOutOfItsLimits) {
  const double nan = std::nan("");
  for (const Noise& noise :
       {Noise(GaussianNoise{0}), Noise(GaussianNoise{nan}), Noise(GaussianNoise{INFINITY}), Noise(LaplaceNoise{-1}),
        Noise(DiscreteGaussianNoise{1, 1.5, true}), Noise(DiscreteGaussianNoise{nan, 1, false}),
        Noise(DiscreteLaplaceNoise{1, 0}), Noise(DiscreteLaplaceNoise{1, 1.5}), Noise(SkellamNoise{1, 1, 2}),
        Noise(SkellamNoise{nan, 1, 1}), Noise(DistributedGaussianNoise{8, 0, 1, 1, 1})}) {
    EXPECT_FALSE(account_for({{noise}}, 1e-6)) << mechanism_name(noise);
  }
  EXPECT_FALSE(account_for({}, 1e-6));
  EXPECT_FALSE(account_for({{GaussianNoise{1}, Sampling::none(), 0}}, 1e-6));
  EXPECT_FALSE(account_for({{GaussianNoise{1}, Sampling::none(), 1'000'000'001}}, 1e-6));
  for (const double delta : {0.0, -1.0, 0.6, 1e-31, nan}) EXPECT_FALSE(account_for({{GaussianNoise{1}}}, delta));
  EXPECT_FALSE(account_for(Composition(1001, Releases{GaussianNoise{1}}), 1e-6));
}

TEST(Account, RefusesToMixNeighbouringRelations) {
  const auto mixed = account_for({{GaussianNoise{1}, poisson(0.1), 1},
                                  {GaussianNoise{1}, Sampling::assume_without_replacement(1, 10, "a test").value(), 1}},
                                 1e-6);
  ASSERT_FALSE(mixed);
  EXPECT_THAT(mixed.error().message(), HasSubstr("make two accounts"));
}

// Random compositions: all that must hold whatever they are.
TEST(Account, OrdersItsBounds) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    const bool is_sampled = prng.chance(0.7);
    const double rate = std::exp(prng.uniform(std::log(1e-3), 0));
    const Sampling sampling = is_sampled ? poisson(rate) : Sampling::none();
    const double z = std::exp(prng.uniform(std::log(0.4), std::log(20)));
    const uint64_t steps = 1 + prng.below(is_sampled ? 2000 : 50);
    const double delta = std::exp(prng.uniform(std::log(1e-12), std::log(1e-2)));
    const auto account = [&](double multiplier, uint64_t count, double at_delta) {
      return account_for({{GaussianNoise{multiplier}, sampling, count}}, at_delta).value();
    };
    const PrivacyAccount here = account(z, steps, delta);
    EXPECT_LE(here.epsilon, *here.rdp.epsilon);
    EXPECT_LE(*here.pld.epsilon, *here.rdp.epsilon + 3e-4);
    if (here.exact.epsilon) EXPECT_GE(*here.pld.epsilon, *here.exact.epsilon);
    const PrivacyAccount others[] = {account(z, steps * 2, delta), account(z * 0.8, steps, delta),
                                     account(z, steps, delta / 3)};
    for (const PrivacyAccount& worse : others) {
      EXPECT_GE(worse.epsilon, here.epsilon);
      EXPECT_GE(*worse.rdp.epsilon, *here.rdp.epsilon);
    }
  }
}

}  // namespace
}  // namespace coterie
