// Rounds of jobs whose mu follows the loss: each version has what the next round's devices train with.
#include <gtest/gtest.h>

#include "scheduler/job/round_terms.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

TEST(FinalizerMu, IsThatOfTheLossesOfTheVersions) {
  test::FrozenRound round(StrategySettings(), std::vector<float>(16, 0.5f), [](HorizontalSettings& settings) {
    settings.training.proximal_mu = 0.5f;
    settings.adaptive_mu = AdaptiveMuSettings{.step = 0.25f, .falls = 2, .max = 1};
  });
  HorizontalSettings& job = round.job_.spec.horizontal();
  job.evaluation = *round.blobs_.put(Bytes{1});
  const std::vector<std::pair<double, double>> losses_and_next = {{3, 0.5}, {4, 0.75}, {3, 0.75}, {2, 0.5}, {2, 0.5}};
  float given = 0.5f;
  for (const auto& [loss, next] : losses_and_next) {
    EXPECT_EQ(terms_of(job, facts_of(round.round_)).proximal_mu, given) << round.round_.number;
    round.add_partial("p" + std::to_string(round.round_.number), {{std::vector<float>(16, 0.01f), 1}});
    const auto finalized = round.finalize(
        [loss = loss](const Bytes&, const Bytes&, const TrainingSettings&) { return ModelEvaluation{.loss = loss}; });
    ASSERT_OK(finalized);
    ASSERT_TRUE(finalized->model.adaptive_mu.has_value());
    EXPECT_EQ(finalized->model.adaptive_mu->mu, next);
    given = static_cast<float>(next);
    round.commit(*finalized);
  }
}

}  // namespace
}  // namespace coterie
