#include "secure/dp/account/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "secure/dp/account/poisson_sampler.h"

namespace coterie {
namespace {

TEST(Sampling, SaysWhoAssumedIt) {
  const Sampling sampling = Sampling::assume_poisson(0.01, "the operator").value();
  EXPECT_TRUE(sampling.is_assumed());
  EXPECT_EQ(sampling.words(), "Poisson sampling with rate 0.01, assumed by the operator, seen by nobody");
  EXPECT_EQ(Sampling::assume_without_replacement(1, 4, "a plan").value().words(),
            "sampling without replacement with rate 0.25, assumed by a plan, seen by nobody");
  EXPECT_EQ(Sampling::none().words(), "no sampling");
  EXPECT_EQ(Sampling::none().rate(), 1);
}

TEST(Sampling, RefusesAnAssumptionOfNobodyAndRatesThatAreNone) {
  EXPECT_FALSE(Sampling::assume_poisson(0.01, ""));
  for (const double rate : {0.0, -1.0, 1.0001, 1e-10, std::nan("")})
    EXPECT_FALSE(Sampling::assume_poisson(rate, "a test"));
  EXPECT_FALSE(Sampling::assume_without_replacement(0, 10, "a test"));
  EXPECT_FALSE(Sampling::assume_without_replacement(11, 10, "a test"));
  EXPECT_FALSE(Sampling::assume_without_replacement(1, 10, ""));
}

TEST(PoissonSampler, ClaimsWhatItDraws) {
  const PoissonSampler sampler = PoissonSampler::create(0.3).value();
  EXPECT_EQ(sampler.claim().kind(), Sampling::Kind::poisson);
  EXPECT_FALSE(sampler.claim().is_assumed());
  EXPECT_GE(sampler.claim().rate(), 0.3);
  EXPECT_LE(sampler.claim().rate(), 0.3 + 0x1p-53);
  EXPECT_FALSE(PoissonSampler::create(0));
  EXPECT_FALSE(PoissonSampler::create(1.5));
}

TEST(PoissonSampler, DrawsEveryRecordAtRateOneAndHardlyAnyAtTheLeast) {
  const std::vector<uint64_t> all = PoissonSampler::create(1).value().draw(1300);
  ASSERT_EQ(all.size(), 1300u);
  for (uint64_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
  EXPECT_TRUE(PoissonSampler::create(1e-9).value().draw(1000).size() < 3);  // three: once in 10^27
}

TEST(PoissonSampler, TossesItsCoinsFairly) {
  Prng prng(7);
  constexpr int kCoins = 200'000;
  std::vector<uint64_t> coins(kCoins);
  for (uint64_t& coin : coins) coin = prng.next();
  const double rate = 0.1;
  const auto heads = static_cast<double>(heads_of(coins, static_cast<uint64_t>(std::ldexp(rate, 53))).size());
  EXPECT_LT(std::abs(heads - kCoins * rate) / std::sqrt(kCoins * rate * (1 - rate)), 4);
}

}  // namespace
}  // namespace coterie
