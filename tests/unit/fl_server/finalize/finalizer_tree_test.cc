// Finalizing with noise of a tree: a round adds its node and takes off those that end, to the last bit.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <map>

#include "scheduler/job/central_noise.h"
#include "scheduler/job/round_release.h"
#include "secure/dp/noise/noise_tree.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using namespace test;

constexpr size_t kValues = 16 * 1024;
constexpr uint32_t kGoal = 4;
constexpr uint32_t kRounds = 100;

using Lanes = std::vector<uint64_t>;

// Rounds of updates of zeros: what is in the model is noise.
class TreeRounds : public FrozenRound {
 public:
  explicit TreeRounds(const RateSchedule& schedule = {})
      : FrozenRound({}, std::vector<float>(kValues), [&](HorizontalSettings& settings) {
          settings.schedules.server = schedule;
          settings.update.clip_l2 = 1;
          settings.update.weight_max = 1;
          settings.rounds.goal_count = kGoal;
          settings.rounds.count = kRounds;
          settings.rounds.separation_min = 20;
          settings.privacy = {SecurityLevel::none, 1.5, 1e-6, 1000};
          settings.privacy.mechanism = NoiseMechanism::tree;
        }) {}

  void freeze() {
    add_partial("p" + std::to_string(next_partial_++), std::vector<TestUpdate>(3, {std::vector<float>(kValues), 1}));
    move(RoundState::frozen);
  }
  // What the attempt's noise adds to a sum.
  Lanes noise() {
    Lanes lanes(kValues);
    const auto noise = noise_.reserve(rounds_, job_, round_.key, WallTime());
    EXPECT_OK(noise);
    if (!noise) return lanes;
    // In two pieces, as the finalizer has tiles.
    noise->add_to(0, std::span(lanes).first(5'000));
    noise->add_to(5'000, std::span(lanes).subspan(5'000));
    return lanes;
  }
  // The noise of the node that the attempt makes, from the salt that the store keeps.
  Lanes node() {
    const Result<NoiseSalt> salt = rounds_.reserve_release(round_.key, NoiseSalt(), WallTime());
    EXPECT_OK(salt);
    const NoiseSeed seed(noise_key_, *salt, job_.id, round_.key);
    const KeyStreamSource inner = *seed.stream("inner"), outer = *seed.stream("outer");
    Lanes lanes(kValues);
    const CentralNoise central = central_noise_of(job_.spec.horizontal(), kValues).value();
    WideGaussian::make(central.sigma)->add_to(inner, outer, 0, lanes);
    return lanes;
  }
  double epsilon() { return rounds_.job_privacy(job_.id)->spent.account.epsilon; }

 private:
  uint64_t next_partial_ = 1;
};

Lanes& operator+=(Lanes& sum, const Lanes& other) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
  return sum;
}

// The lanes are signed numbers; in units of sigma^2.
double variance_of(const Lanes& lanes, double sigma) {
  double squares = 0;
  for (const uint64_t lane : lanes) squares += std::pow(static_cast<double>(static_cast<int64_t>(lane)) / sigma, 2);
  return squares / static_cast<double>(lanes.size());
}

TEST(FinalizerWithTreeNoise, HasAfterEachRoundTheNoiseOfThePrefixAlone) {
  TreeRounds rounds;
  const double sigma = central_noise_of(rounds.job_.spec.horizontal(), kValues)->sigma;
  std::map<uint64_t, Lanes> nodes;
  Lanes in_model(kValues);
  for (uint64_t t = 1; t <= 21; ++t) {
    SCOPED_TRACE(t);
    rounds.freeze();
    const auto finalized = rounds.finalize();
    ASSERT_OK(finalized);
    in_model += rounds.noise();
    nodes[t] = rounds.node();
    Lanes prefix(kValues);
    for (const uint64_t node : nodes_of_prefix(t)) prefix += nodes[node];
    ASSERT_EQ(in_model, prefix) << "noise of earlier rounds is left, or other noise was taken off";
    const double ones = std::popcount(t);
    EXPECT_NEAR(variance_of(in_model, sigma), ones, 5 * ones * std::sqrt(2.0 / kValues));
    rounds.commit_frozen(*finalized);
  }
  // And in the model, but for float32: 21 has three ones.
  double squares = 0;
  for (const float weight : rounds.weights_of(rounds.base_)) squares += std::pow(static_cast<double>(weight), 2);
  const CentralNoise noise = central_noise_of(rounds.job_.spec.horizontal(), kValues).value();
  const double step = std::ldexp(noise.sigma, -static_cast<int>(noise.fraction_bits)) / kGoal;
  EXPECT_NEAR(squares / kValues / (step * step), 3, 0.3);
}

// ADR 78: the model is a sum of prefixes' noise whose weights are positive and add up to the first rate.
TEST(FinalizerWithTreeNoise, LeavesNoMoreOfItInTheModelWhereTheServersRateFalls) {
  TreeRounds rounds({.kind = RateScheduleKind::exponential, .gamma = 0.75});
  const CentralNoise noise = central_noise_of(rounds.job_.spec.horizontal(), kValues).value();
  const double unit = std::ldexp(1.0, -static_cast<int>(noise.fraction_bits)) / kGoal;
  std::vector<double> expected(kValues);
  Lanes prefix(kValues);
  double rate = 1, worst = 0;
  for (uint64_t t = 1; t <= 8; ++t) {
    rounds.freeze();
    const auto finalized = rounds.finalize();
    ASSERT_OK(finalized);
    const Lanes lanes = rounds.noise();
    for (size_t i = 0; i < kValues; ++i) {
      expected[i] += rate * static_cast<double>(static_cast<int64_t>(lanes[i])) * unit;
    }
    prefix += lanes;
    worst = std::max(worst, variance_of(prefix, noise.sigma));
    rate *= 0.75;
    rounds.commit_frozen(*finalized);
  }
  const std::vector<float> weights = rounds.weights_of(rounds.base_);
  double squares = 0;
  for (size_t i = 0; i < kValues; ++i) {
    ASSERT_NEAR(weights[i], expected[i], 1e-5 * noise.sigma * unit) << i;
    squares += std::pow(static_cast<double>(weights[i]) / (noise.sigma * unit), 2);
  }
  EXPECT_GT(squares / kValues, 0.1) << "noise of earlier rounds that is not taken off whole";
  EXPECT_LT(squares / kValues, worst);
}

TEST(FinalizerWithTreeNoise, ChargesTheWholeTreeOnceAndWhatTheAccountantSays) {
  TreeRounds rounds;
  const TreeNoise tree = tree_noise({kRounds, 20, Participation::separated}, 1.5).value();
  const double of_the_tree = account_for({{tree, Sampling::none(), 1}}, 1e-6)->epsilon;
  EXPECT_EQ(rounds.epsilon(), 0);
  for (int t = 1; t <= 5; ++t) {
    rounds.freeze();
    const auto finalized = rounds.finalize();
    ASSERT_OK(finalized);
    EXPECT_NEAR(rounds.epsilon(), of_the_tree, 1e-6);
    EXPECT_GE(rounds.epsilon(), of_the_tree * (1 - 1e-12));
    rounds.commit_frozen(*finalized);
    EXPECT_EQ(rounds.rounds_.job_privacy(rounds.job_.id)->spent.releases, 1u);
    EXPECT_EQ(rounds.rounds_.job_privacy(rounds.job_.id)->spent.open_reserves, 0u);
  }
  const std::vector<LedgerRecord> records = rounds.rounds_.list_ledger(0, 100).value();
  ASSERT_EQ(records.size(), 2u) << "a reserve and a commit, both in the first round";
  EXPECT_EQ(records[0].release.mechanism, LedgerMechanism::tree);
}

// Attempts fail when all noise is drawn, wherever the storm will have it.
TEST(FinalizerWithTreeNoise, OfAttemptsThatFailIsNeitherChargedNorLeft) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    TreeRounds rounds;
    Lanes in_model(kValues);
    std::map<uint64_t, Lanes> nodes;
    double charged = 0;
    for (uint64_t t = 1; t <= 9; ++t) {
      std::vector<Lanes> tried;
      while (prng.chance(0.4)) {
        rounds.freeze();
        tried.push_back(rounds.noise());
        rounds.try_again_after(Error(ErrorCode::data_loss, "the storm"));
        EXPECT_EQ(rounds.epsilon(), charged) << "an attempt that failed is not charged";
      }
      rounds.freeze();
      const auto finalized = rounds.finalize();
      ASSERT_OK(finalized);
      const Lanes own = rounds.noise();
      for (const Lanes& other : tried) EXPECT_NE(own, other) << "their difference would be one of sums";
      in_model += own;
      nodes[t] = rounds.node();
      rounds.commit_frozen(*finalized);
      if (charged == 0) charged = rounds.epsilon();
      EXPECT_EQ(rounds.epsilon(), charged);
      Lanes prefix(kValues);
      for (const uint64_t node : nodes_of_prefix(t)) prefix += nodes[node];
      ASSERT_EQ(in_model, prefix);
    }
  }
}

TEST(FinalizerWithTreeNoise, OfTwoAttemptsDiffersByTwoFreshNodes) {
  TreeRounds rounds;
  const double sigma = central_noise_of(rounds.job_.spec.horizontal(), kValues)->sigma;
  rounds.freeze();
  rounds.commit_frozen(rounds.finalize().value());
  rounds.freeze();
  Lanes difference = rounds.noise();
  rounds.try_again_after(Error(ErrorCode::data_loss, "the storm"));
  rounds.freeze();
  const Lanes other = rounds.noise();
  for (size_t i = 0; i < kValues; ++i) difference[i] -= other[i];
  EXPECT_NEAR(variance_of(difference, sigma), 2, 5 * 2 * std::sqrt(2.0 / kValues)) << "not less than a node's own";
}

}  // namespace
}  // namespace coterie
