#include "scheduler/job/adaptive_mu_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/job/round_terms.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

HorizontalSettings job(float mu = 0.25f) {
  HorizontalSettings settings;
  settings.training.proximal_mu = mu;
  settings.adaptive_mu = AdaptiveMuSettings{.step = 0.25f, .falls = 3, .max = 1};
  settings.evaluation = Digest{{1}};
  return settings;
}

// The mu of each round of a job whose versions have these losses, from version 1 on: of round 1, 2, ...
std::vector<double> mus_of(const HorizontalSettings& settings, const std::vector<std::optional<double>>& losses) {
  std::vector<double> mus;
  std::optional<AdaptiveMu> state;
  std::optional<double> before;
  for (size_t version = 0; version <= losses.size(); ++version) {
    std::optional<double> row;
    if (state) row = state->mu;
    mus.push_back(static_cast<double>(terms_of(settings, {.number = version + 1, .proximal_mu = row}).proximal_mu));
    if (version == losses.size()) break;
    state = next_adaptive_mu(settings, state, before, losses[version]);
    before = losses[version];
  }
  return mus;
}

TEST(AdaptiveMu, RisesWithTheLossAndFallsAfterSoManyRoundsInARow) {
  EXPECT_THAT(mus_of(job(), {3, 4, 5}), ElementsAre(0.25, 0.25, 0.5, 0.75)) << "the first loss has none before it";
  EXPECT_THAT(mus_of(job(), {9, 8, 7, 6, 5, 4, 3}), ElementsAre(0.25, 0.25, 0.25, 0.25, 0, 0, 0, 0))
      << "after three falls, and not again after a fourth";
  EXPECT_THAT(mus_of(job(1), {9, 8, 7, 6, 5, 4, 3}), ElementsAre(1, 1, 1, 1, 0.75, 0.75, 0.75, 0.5));
  EXPECT_THAT(mus_of(job(), {9, 8, 7, 8, 7, 6, 5}), ElementsAre(0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.25))
      << "a rise begins the row anew";
}

TEST(AdaptiveMu, StaysWithinItsBounds) {
  EXPECT_THAT(mus_of(job(1), {1, 2, 3}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(mus_of(job(0), {9, 8, 7, 6}), ElementsAre(0, 0, 0, 0, 0));
  const HorizontalSettings settings = job();
  EXPECT_EQ(proximal_mu_of(settings, 1e9), 1) << "whatever a database says";
  EXPECT_EQ(proximal_mu_of(settings, -1.0), 0);
  EXPECT_EQ(proximal_mu_of(settings, std::nullopt), 0.25f);
}

TEST(AdaptiveMu, DoesNotMoveByALossThatIsTheSameOrNotKnown) {
  EXPECT_THAT(mus_of(job(), {5, 5, std::nullopt, 6}), ElementsAre(0.25, 0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(mus_of(job(), {9, 8, 7, 7, 6, 5}), ElementsAre(0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25))
      << "and the row begins anew";
}

TEST(AdaptiveMu, IsAllThatARoundsPlanHasOfIt) {
  const HorizontalSettings settings = job();
  const Plan plan = plan_of(settings, JobId("j"), 100);
  Plan expected = plan;
  expected.training.proximal_mu = 0.75f;
  EXPECT_EQ(with_terms(plan, terms_of(settings, {.proximal_mu = 0.75})), expected);
  HorizontalSettings fixed = settings;
  fixed.adaptive_mu.reset();
  EXPECT_EQ(with_terms(plan, terms_of(fixed, {.proximal_mu = 0.75})), plan) << "a row of another job's is not read";
  EXPECT_EQ(terms_in(expected), terms_of(settings, {.proximal_mu = 0.75}));
}

TEST(AdaptiveMu, IsRefusedByName) {
  const auto expect_refused = [](const char* pointer, const char* why, const auto& change) {
    HorizontalSettings settings = job();
    change(settings);
    const Problems problems = validate(settings);
    ASSERT_EQ(problems.size(), 1u) << pointer;
    EXPECT_EQ(problems[0].pointer, pointer);
    EXPECT_THAT(problems[0].detail, HasSubstr(why));
  };
  EXPECT_THAT(validate(job()), IsEmpty());
  EXPECT_THAT(validate(job(0)), IsEmpty());
  const auto own = [](HorizontalSettings& s) -> AdaptiveMuSettings& { return *s.adaptive_mu; };
  expect_refused("/training/adaptive_mu", "evaluation data", [](auto& s) { s.evaluation.reset(); });
  for (const float step : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), 2e6f}) {
    expect_refused("/training/adaptive_mu/step", "must be in", [&](auto& s) { own(s).step = step; });
  }
  for (const uint32_t falls : {0u, 1001u}) {
    expect_refused("/training/adaptive_mu/falls", "must be in", [&](auto& s) { own(s).falls = falls; });
  }
  for (const float max : {0.0f, -1.0f, std::numeric_limits<float>::infinity()}) {
    expect_refused("/training/adaptive_mu/max", "above 0", [&](auto& s) { own(s).max = max; });
  }
  expect_refused("/training/proximal_mu", "begins with", [](auto& s) { s.training.proximal_mu = 1.5f; });
  for (const char* const strategy : {"feddyn", "scaffold"}) {
    expect_refused("/training/adaptive_mu", strategy, [&](auto& s) {
      s.training.proximal_mu = 0;
      s.update.weight_max = 1;
      s.strategy = StrategySettings::of(strategy).with("population_size", 100);
    });
  }
}

}  // namespace
}  // namespace coterie
