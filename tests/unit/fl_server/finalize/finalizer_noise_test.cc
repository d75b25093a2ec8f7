// Finalizing with noise: reserved first, added once to the sum, the same however often it is done.
#include <gmock/gmock.h>

#include <cmath>

#include "scheduler/job/central_noise.h"
#include "scheduler/job/round_release.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using namespace test;

constexpr size_t kValues = 32 * 1024 + 500;  // two tiles
constexpr uint32_t kGoal = 4;

class NoisyRound : public FrozenRound {
 public:
  NoisyRound()
      : FrozenRound({}, std::vector<float>(kValues), [&](HorizontalSettings& settings) {
          settings.update.clip_l2 = 1;
          settings.update.weight_max = 1;
          settings.rounds.goal_count = kGoal;
          settings.privacy = {SecurityLevel::none, 1.5, 1e-6, 100};
        }) {}

  // `updates` of zeros, frozen.
  void freeze(size_t updates) {
    add_partial("p", std::vector<TestUpdate>(updates, {std::vector<float>(kValues), 1}));
    move(RoundState::frozen);
  }
  double sigma() const {
    const CentralNoise noise = central_noise_of(job_.spec.horizontal(), kValues).value();
    return std::ldexp(noise.sigma, -static_cast<int>(noise.fraction_bits)) / kGoal;
  }
};

double squares_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

TEST(FinalizerWithNoise, AddsNoiseOfTheSizeThatIsAccountedFor) {
  NoisyRound round;
  round.freeze(3);
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  const double n = kValues;
  const double scaled = squares_of(round.weights_of(finalized->model)) / (round.sigma() * round.sigma());
  EXPECT_LT(std::fabs(scaled - n) / std::sqrt(2 * n), 5) << "variance of the noise / sigma^2 is " << scaled / n;
  EXPECT_NEAR(round.sigma() * kGoal, 1.5 * (1 + 0x1p-10), 1.5 * 0.01) << "multiplier * clip, but for rounding";
}

TEST(FinalizerWithNoise, TellsNoNormsAndNoCosinesOfUpdates) {
  NoisyRound round;
  PartialSumHeader header = round.header_of("p", {{std::vector<float>(kValues), 1}});
  header.norms.emplace().counts[0] = 1;
  round.accept(header, round.put_partial(header, std::vector<uint64_t>(kValues)), 1);
  round.move(RoundState::frozen);
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  EXPECT_EQ(finalized->model.update_norms, std::nullopt) << "they have no noise";
  EXPECT_EQ(finalized->model.update_cosines, std::nullopt);
}

TEST(FinalizerWithNoise, DividesByTheGoalWhoeverCame) {
  for (const size_t updates : {2, 6}) {
    NoisyRound round;
    std::vector<float> values(kValues);
    values[0] = 1;
    round.add_partial("p", std::vector<TestUpdate>(updates, {values, 1}));
    round.move(RoundState::frozen);
    const auto finalized = round.finalize();
    ASSERT_OK(finalized);
    const float moved = round.weights_of(finalized->model)[0];
    EXPECT_NEAR(moved, static_cast<double>(updates) / kGoal, 5 * round.sigma());
  }
}

TEST(FinalizerWithNoise, ReservesOnceAndGivesTheSameBytesAgain) {
  NoisyRound round;
  round.freeze(3);
  const auto first = round.finalize(), second = round.finalize();
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->model.digest, second->model.digest);
  ASSERT_TRUE(first->noise_commitment.has_value());
  EXPECT_EQ(first->noise_commitment, second->noise_commitment);
  const std::vector<LedgerRecord> records = round.rounds_.list_ledger(0, 10).value();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].release, release_of(round.job_.spec.horizontal(), kValues));

  round.commit_frozen(*first);
  const std::vector<LedgerRecord> after = round.rounds_.list_ledger(0, 10).value();
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[1].noise_commitment, *first->noise_commitment);
  EXPECT_EQ(after[1].contributors, 3u);
}

TEST(FinalizerWithNoise, DrawsOtherNoiseForEveryAttemptAndEveryRound) {
  NoisyRound round;
  round.freeze(3);
  const Digest first = round.finalize()->model.digest;
  NoisyRound other;  // the same key and job, another salt
  other.freeze(3);
  EXPECT_NE(other.finalize()->model.digest, first);
}

TEST(FinalizerWithNoise, ReservesNothingForSumsThatDoNotFit) {
  NoisyRound round;
  const std::vector<TestUpdate> updates(3, {std::vector<float>(kValues), 1});
  const PartialSumHeader header = round.header_of("p", updates);
  round.accept(header, round.put_partial(header, round.lanes_of(updates)), 2);
  round.move(RoundState::frozen);
  EXPECT_ERROR(round.finalize(), ErrorCode::data_loss, "");
  EXPECT_TRUE(round.rounds_.list_ledger(0, 10)->empty());
}

// The sums are found damaged behind the last tile, when all noise is drawn.
TEST(FinalizerWithNoise, OfDamagedSumsCostsNothingHoweverOftenTheRoundIsTried) {
  NoisyRound round;
  const double epsilon_of_one = account_of({{release_of(round.job_.spec.horizontal(), kValues), 1}}, 1e-6)->epsilon;
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const std::vector<TestUpdate> updates(3, {std::vector<float>(kValues), 1});
    const Digest partial = round.add_partial("p" + std::to_string(attempt), updates);
    round.move(RoundState::frozen);
    round.partials_.bytes_of(partial).back() ^= 1;
    const auto finalized = round.finalize();
    ASSERT_ERROR(finalized, ErrorCode::data_loss, "digest");
    EXPECT_EQ(round.rounds_.job_privacy(round.job_.id)->spent.account.epsilon, epsilon_of_one) << "as long as it may";
    round.try_again_after(finalized.error());
    EXPECT_EQ(round.rounds_.job_privacy(round.job_.id)->spent.account.epsilon, 0);
  }
  round.freeze(3);
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  round.commit_frozen(*finalized);
  EXPECT_EQ(round.rounds_.job_privacy(round.job_.id)->spent.account.epsilon, epsilon_of_one);
}

// Without noise nothing changes: the golden rounds say so; here, that the ledger is not touched.
TEST(FinalizerWithNoise, IsNotForJobsWithoutNoise) {
  FrozenRound round({}, std::vector<float>(100));
  round.add_partial("p", {{std::vector<float>(100, 0.5f), 1}});
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  EXPECT_FALSE(finalized->noise_commitment.has_value());
  EXPECT_TRUE(round.rounds_.list_ledger(0, 10)->empty());
}

// ---- The seed

NoiseSalt salt_of(uint8_t value) {
  NoiseSalt salt;
  salt.mutable_bytes()[0] = value;
  return salt;
}

TEST(NoiseSeed, DependsOnKeySaltJobRoundAndAttempt) {
  MacKey key, other_key;
  other_key.mutable_bytes()[0] = 1;
  const RoundKey round{RoundId(1), Attempt(1)};
  const Digest base = NoiseSeed(key, salt_of(1), JobId("j"), round).commitment();
  EXPECT_EQ(NoiseSeed(key, salt_of(1), JobId("j"), round).commitment(), base);
  EXPECT_NE(NoiseSeed(other_key, salt_of(1), JobId("j"), round).commitment(), base);
  EXPECT_NE(NoiseSeed(key, salt_of(2), JobId("j"), round).commitment(), base);
  EXPECT_NE(NoiseSeed(key, salt_of(1), JobId("k"), round).commitment(), base);
  EXPECT_NE(NoiseSeed(key, salt_of(1), JobId("j"), {RoundId(2), Attempt(1)}).commitment(), base);
  EXPECT_NE(NoiseSeed(key, salt_of(1), JobId("j"), {RoundId(1), Attempt(2)}).commitment(), base);
}

TEST(NoiseSeed, HasAStreamForEachPurpose) {
  const NoiseSeed seed(MacKey(), salt_of(1), JobId("j"), {RoundId(1), Attempt(1)});
  Bytes inner(64), again(64), outer(64);
  seed.stream("inner")->write(0, inner);
  seed.stream("inner")->write(0, again);
  seed.stream("outer")->write(0, outer);
  EXPECT_EQ(inner, again);
  EXPECT_NE(inner, outer);
}

}  // namespace
}  // namespace coterie
