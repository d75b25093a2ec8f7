// A job's whole tree of noise as one release of the ledger.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/matchers.h"
#include "tests/unit/secure/dp/ledger_samples.h"

namespace coterie {
namespace {

using namespace test;

constexpr double kDelta = 1e-6;
const PrivacyBudget kBudget{100, kDelta};
const JobId kJob("j");

LedgerRelease tree_release(double sigma, double sensitivity) {
  return {LedgerMechanism::tree, sigma * sigma, 30 * sensitivity, sensitivity, 0};
}

TEST(LedgerTree, IsAccountedForAsNormalNoiseThatWasRounded) {
  const double sigma = 4000, sensitivity = 1000;
  const PrivacyAccount account = account_of({{tree_release(sigma, sensitivity), 1}}, kDelta).value();
  const GaussianNoise normal{std::sqrt(sigma * sigma - kRounded) / sensitivity};
  EXPECT_NEAR(account.epsilon, account_for({{normal, Sampling::none(), 1}}, kDelta)->epsilon, 1e-8);
  EXPECT_EQ(account.method, "exact");
}

TEST(LedgerTree, OfNoNumberIsNoRecord) {
  Ledger ledger;
  EXPECT_FALSE(ledger.reserve(kJob, round_key(1), tree_release(std::nan(""), 1), kBudget, ledger_time(1)).has_value());
}

TEST(LedgerTree, CoversWhatProtectsAsWellAndEndsWithItsReserve) {
  Ledger ledger;
  const LedgerRelease tree = tree_release(4000, 1000);
  EXPECT_FALSE(ledger.covers(kJob, tree));
  ASSERT_OK(ledger.append(ledger.reserve(kJob, round_key(1), tree, kBudget, ledger_time(1)).value()));
  EXPECT_TRUE(ledger.covers(kJob, tree));
  EXPECT_TRUE(ledger.covers(kJob, tree_release(4001, 999)));
  EXPECT_FALSE(ledger.covers(kJob, tree_release(3999, 1000)));
  EXPECT_FALSE(ledger.covers(kJob, tree_release(4000, 1001)));
  EXPECT_FALSE(ledger.covers(JobId("k"), tree));
  EXPECT_FALSE(ledger.covers(kJob, gaussian_release(4))) << "one round is no tree";
  ASSERT_OK(ledger.append(ledger.void_reserve(round_key(1), ledger_time(2)).value()));
  EXPECT_FALSE(ledger.covers(kJob, tree));
  ASSERT_OK(ledger.append(ledger.reserve(kJob, round_key(1, 2), tree, kBudget, ledger_time(3)).value()));
  ASSERT_OK(ledger.append(ledger.commit(round_key(1, 2), tree, 3, some_commitment(), ledger_time(4)).value()));
  EXPECT_TRUE(ledger.covers(kJob, tree));
}

}  // namespace
}  // namespace coterie
