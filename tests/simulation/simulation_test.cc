// The simulator in ./check: thousands of rounds clean, the same seed the same
// trace, and every broken variant caught.
#include <gtest/gtest.h>

#include "secure/crypto/signature.h"
#include "tests/simulation/verified_signatures.h"
#include "tests/simulation/world.h"

namespace coterie::simulation {
namespace {

#ifdef COTERIE_SIMULATION_ROUNDS
constexpr uint64_t kRounds = COTERIE_SIMULATION_ROUNDS;
#else
constexpr uint64_t kRounds = 500;  // 20,000 at night: coterie-simulation
#endif

TEST(Simulation, LosesNothingAndCountsNothingTwice) {
  Verdict total;
  uint64_t seed = 1;
  for (; total.rounds < kRounds; ++seed) total += simulate(options_from_seed(seed));
  EXPECT_TRUE(total.clean()) << total.first_problem << ": lost " << total.lost << " doubled " << total.doubled
                             << " phantom " << total.phantom << " stuck " << total.stuck << " misaccounted "
                             << total.misaccounted;
  // A simulation in which nothing bad happens proves nothing.
  EXPECT_GT(total.crashes, kRounds / 2);
  EXPECT_GT(total.conflicts, 0u);
  EXPECT_GT(total.leaders, seed) << "the lead changed hands";
  EXPECT_GT(total.masked, 0u);
  EXPECT_GT(total.asked, 2 * kRounds) << "whoever asked is told of";
  std::printf(
      "%llu rounds, seeds 1 to %llu: %llu crashes, %llu leaders, %llu "
      "conflicts, %llu attempts made again\n",
      static_cast<unsigned long long>(total.rounds), static_cast<unsigned long long>(seed - 1),
      static_cast<unsigned long long>(total.crashes), static_cast<unsigned long long>(total.leaders),
      static_cast<unsigned long long>(total.conflicts), static_cast<unsigned long long>(total.retries));
}

TEST(Simulation, TheSameSeedGivesTheSameTrace) {
  for (uint64_t seed : {3u, 17u, 99u}) {
    const Verdict first = simulate(options_from_seed(seed));
    const Verdict second = simulate(options_from_seed(seed));
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.events, second.events) << "seed " << seed;
  }
}

// One that was good stays good; nothing else becomes good by it.
TEST(Simulation, ABadSignatureIsBadThoughAGoodOneWasVerifiedBefore) {
  const auto signer = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 7));
  const Bytes message(40, 1), other(40, 2);
  const Bytes good = *signer->sign(message);
  Bytes bad = good;
  bad[5] ^= 1;
  forget_verified_signatures();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(signature_is_valid(KeyAlgorithm::ed25519, signer->public_key(), message, bad));
    EXPECT_TRUE(signature_is_valid(KeyAlgorithm::ed25519, signer->public_key(), message, good));
    EXPECT_FALSE(signature_is_valid(KeyAlgorithm::ed25519, signer->public_key(), other, good));
  }
}

// Sessions that die with their leader, devices that drop out of a phase:
// attempts are lost, no update is.
TEST(Simulation, MaskedRoundsUnderTheSameFaultsCountWhoIsAccepted) {
  Verdict total;
  for (uint64_t seed = 1; total.masked < 60; ++seed) total += simulate(options_from_seed(seed, Mutant::none, true));
  EXPECT_TRUE(total.clean()) << total.first_problem;
  EXPECT_EQ(total.rounds, total.masked);
  EXPECT_GT(total.joined, 0u) << "an update went through the session of a later round";
  EXPECT_GT(total.crashes, 0u);
  EXPECT_GT(total.retries, 0u) << "an attempt was lost, and made again";
}

class BrokenVariant : public testing::TestWithParam<Mutant> {};

TEST_P(BrokenVariant, IsCaughtWithinAFewWorlds) {
  constexpr uint64_t kWorldsMax = 100;
  Verdict total;
  uint64_t seed = 1;
  for (; total.clean() && seed <= kWorldsMax; ++seed) {
    total += simulate(options_from_seed(seed, GetParam()));
  }
  EXPECT_FALSE(total.clean()) << to_string(GetParam()) << " went unnoticed in " << kWorldsMax << " worlds";
  RecordProperty("worlds", static_cast<int>(seed));
}

INSTANTIATE_TEST_SUITE_P(EveryGuarantee, BrokenVariant, testing::ValuesIn(std::begin(kMutants) + 1, std::end(kMutants)),
                         [](const auto& entry) { return std::string(to_string(entry.param)); });

}  // namespace
}  // namespace coterie::simulation
