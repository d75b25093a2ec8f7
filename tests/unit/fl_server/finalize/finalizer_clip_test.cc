// Finalizing with adaptive clipping, on rounds of updates whose norms are known: the clip finds the quantile, the model
// moves by the clipped mean, and one round gives one clip.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "scheduler/job/adaptive_clip_rules.h"
#include "scheduler/job/round_release.h"
#include "scheduler/job/round_terms.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using namespace test;

constexpr uint32_t kGoal = 60;

class AdaptiveRound : public FrozenRound {
 public:
  explicit AdaptiveRound(size_t values, double quantile = 0.5, float clip = 1)
      : FrozenRound({}, std::vector<float>(values), [&](HorizontalSettings& settings) {
          settings.update.clip_l2 = clip;
          settings.update.weight_max = 1;
          settings.rounds.goal_count = kGoal;
          settings.rounds.count = 1000;
          settings.privacy = {SecurityLevel::none, 2, 1e-6, 1000};  // 60 rounds have an account
          settings.privacy.adaptive_clip = AdaptiveClipSettings{.quantile = quantile};
        }) {}

  const HorizontalSettings& settings() const { return job_.spec.horizontal(); }
  Plan plan() const {
    return with_terms(plan_of(settings(), job_.id, job_.value_count), terms_of(settings(), facts_of(round_)));
  }
  // What a device sends of an update that has all its norm in its first value, as encode_update.h says.
  TestUpdate update_of(double norm) const {
    const UpdateRules rules = plan().update;
    TestUpdate update{std::vector<float>(update_values()), 1};
    const bool is_within = norm <= rules.clip.clip_norm;
    update.values[0] = static_cast<float>(std::min(norm, rules.clip.clip_norm) * rules.clip_l2 / rules.clip.clip_norm);
    update.values.back() = is_within ? rules.clip.bit : -rules.clip.bit;
    return update;
  }
  // Freezes a round of updates of these norms.
  void freeze(const std::vector<double>& norms) {
    std::vector<TestUpdate> updates;
    for (const double norm : norms) updates.push_back(update_of(norm));
    add_partial("p" + std::to_string(round_.number), updates);
    move(RoundState::frozen);
  }
};

// Norms 0.1, 0.2, ... 6: a share q of them is below 6 q.
std::vector<double> spread_norms() {
  std::vector<double> norms(kGoal);
  for (uint32_t i = 0; i < kGoal; ++i) norms[i] = 0.1 * (i + 1);
  return norms;
}

TEST(FinalizerWithAdaptiveClip, FindsTheQuantileOfKnownNorms) {
  for (const double quantile : {0.3, 0.5, 0.8}) {
    AdaptiveRound round(3, quantile, 1);
    double mean_log = 0;
    constexpr int kRounds = 60, kLast = 20;
    for (int number = 1; number <= kRounds; ++number) {
      round.freeze(spread_norms());
      const auto finalized = round.finalize();
      ASSERT_OK(finalized);
      ASSERT_TRUE(finalized->model.clip_norm.has_value());
      if (number > kRounds - kLast) mean_log += std::log(*finalized->model.clip_norm) / kLast;
      round.commit_frozen(*finalized);
      EXPECT_EQ(round.plan().update.clip.clip_norm, *finalized->model.clip_norm) << "the next plan says it";
    }
    const double reached = std::exp(mean_log);
    std::printf("quantile %.1f: clip %.3f, of the norms %.3f are below\n", quantile, reached, reached / 6);
    EXPECT_NEAR(reached / 6, quantile, 0.06);
  }
}

// 500 values behind a tile: the bit is in the last of two.  And a bit that is a tile of its own.
TEST(FinalizerWithAdaptiveClip, MovesTheModelByTheClippedMeanWhereverTheBitLies) {
  for (const auto& [values, rounds] : {std::pair<size_t, int>{32 * 1024 + 500, 2}, {32 * 1024, 1}}) {
    AdaptiveRound round(values);
    for (int number = 1; number <= rounds; ++number) {
      const double clip = round.plan().update.clip.clip_norm;
      const float before = round.weights_of(round.base_)[0];
      round.freeze(std::vector<double>(kGoal, 100));  // all are clipped
      const auto finalized = round.finalize();
      ASSERT_OK(finalized);
      const double sigma = adaptive_clip_noise(round.settings()).update_multiplier * clip / kGoal;
      EXPECT_NEAR(round.weights_of(finalized->model)[0] - before, clip, 6 * sigma);
      EXPECT_GT(*finalized->model.clip_norm, clip) << "none was within it";
      EXPECT_LE(*finalized->model.clip_norm, clip * std::exp(0.1) * (1 + 1e-12));
      double squares = 0;
      const std::vector<float> weights = round.weights_of(finalized->model), base = round.weights_of(round.base_);
      for (size_t i = 1; i < weights.size(); ++i) squares += std::pow(static_cast<double>(weights[i] - base[i]), 2);
      const double n = static_cast<double>(values - 1);
      EXPECT_NEAR(squares / (n * sigma * sigma), 1, 0.06) << "the noise is z_delta * C of the round";
      round.commit_frozen(*finalized);
    }
    ASSERT_GT(round.plan().update.clip.clip_norm, std::pow(1.06, rounds));
  }
}

TEST(FinalizerWithAdaptiveClip, OfOneRoundIsTheSameHoweverOftenItIsMade) {
  AdaptiveRound round(40);
  round.freeze(spread_norms());
  const auto first = round.finalize(), second = round.finalize();
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->model.clip_norm, second->model.clip_norm);
  EXPECT_EQ(first->model.digest, second->model.digest);
}

TEST(FinalizerWithAdaptiveClip, HasOneKindOfReleaseWhateverTheClip) {
  AdaptiveRound round(40);
  for (int number = 1; number <= 5; ++number) {
    round.freeze(std::vector<double>(kGoal, 100));
    const auto finalized = round.finalize();
    ASSERT_OK(finalized);
    round.commit_frozen(*finalized);
  }
  const LedgerRelease release = release_of(round.settings(), 40);
  const auto records = round.rounds_.list_ledger(0, 100);
  ASSERT_OK(records);
  for (const LedgerRecord& record : *records) EXPECT_EQ(record.release, release);
  EXPECT_EQ(round.rounds_.job_privacy(round.job_.id)->spent.account.epsilon, account_of({{release, 5}}, 1e-6)->epsilon);
}

}  // namespace
}  // namespace coterie
