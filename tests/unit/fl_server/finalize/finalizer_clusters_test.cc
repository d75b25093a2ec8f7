// Rounds of jobs with clusters: each cluster moves by the mean of those that chose it, and one that nobody chose keeps
// its bits, whatever the strategy carries.
#include <gtest/gtest.h>

#include <cmath>

#include "device_sdk/runtime/cluster_models.h"
#include "fl_server/finalize/cluster_restarts.h"
#include "proto/messages/model_clusters.h"
#include "tests/support/plain_model.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::TestUpdate;

constexpr uint32_t kClusters = 3;
constexpr uint64_t kValues = 32;  // of one model

std::vector<float> base_of(uint32_t cluster) { return test::some_values(10 + cluster, kValues, 1); }

Bytes stack() {
  std::vector<Model> models;
  for (uint32_t cluster = 0; cluster < kClusters; ++cluster) {
    models.push_back(*Model::load(test::plain_model(base_of(cluster))));
  }
  return *stack_models(models);
}

const auto with_clusters = [](HorizontalSettings& settings) {
  settings.training.personal = PersonalSettings{.kind = PersonalKind::clusters, .count = kClusters};
};

// What a device sends that trained this cluster.
TestUpdate update_of(FrozenRound& round, uint32_t cluster, const std::vector<float>& delta, uint32_t weight) {
  const float whole = round.job_.spec.horizontal().update.value_abs_max;
  std::vector<float> values(kClusters * kValues + kClusters);
  std::copy(delta.begin(), delta.end(), values.begin() + static_cast<std::ptrdiff_t>(cluster * kValues));
  values[kClusters * kValues + cluster] = whole;
  return {values, weight};
}

std::vector<float> cluster_of(const std::vector<float>& weights, uint32_t cluster) {
  const auto first = weights.begin() + static_cast<std::ptrdiff_t>(cluster * kValues);
  return {first, first + kValues};
}

std::vector<float> after(FrozenRound& round, const std::vector<TestUpdate>& updates) {
  round.add_partial("p" + std::to_string(round.round_.number), updates);
  const auto finalized = round.finalize();
  EXPECT_OK(finalized);
  if (!finalized) return {};
  std::vector<float> values = round.weights_of(finalized->model);
  round.commit(*finalized);
  return values;
}

TEST(ClusterRounds, MoveEachByTheMeanOfThoseThatChoseIt) {
  FrozenRound round(StrategySettings(), stack(), with_clusters);
  ASSERT_EQ(round.update_values(), kClusters * kValues + kClusters);
  const std::vector<float> a = test::some_values(1, kValues, 0.1), b = test::some_values(2, kValues, 0.1),
                           c = test::some_values(3, kValues, 0.1);
  const std::vector<float> moved =
      after(round, {update_of(round, 0, a, 1), update_of(round, 2, b, 3), update_of(round, 0, c, 4)});
  ASSERT_EQ(moved.size(), kClusters * kValues);
  EXPECT_EQ(cluster_of(moved, 1), base_of(1)) << "to the bit: nobody chose it";
  for (uint64_t i = 0; i < kValues; ++i) {
    EXPECT_NEAR(cluster_of(moved, 0)[i], base_of(0)[i] + (a[i] + 4 * c[i]) / 5, 1e-6);
    EXPECT_NEAR(cluster_of(moved, 2)[i], base_of(2)[i] + b[i], 1e-6) << "by its own weight, not by the round's";
  }
}

// All of a round in one cluster: it is the round of a job with that model alone, to the bit, for every strategy that
// goes with clusters.
TEST(ClusterRounds, OfOneClusterAreThoseOfItsModelAlone) {
  for (const StrategyRule* rule : strategies()) {
    if (!rule->scalars.empty() || rule->correction != CorrectionKind::none) continue;
    FrozenRound clustered(StrategySettings::of(rule->name), stack(), with_clusters);
    FrozenRound alone(StrategySettings::of(rule->name), base_of(1));
    for (uint64_t number = 1; number <= 3; ++number) {
      const std::vector<float> delta = test::some_values(number, kValues, 0.05);
      const std::vector<float> moved =
          after(clustered, {update_of(clustered, 1, delta, 2), update_of(clustered, 1, delta, 1)});
      EXPECT_EQ(cluster_of(moved, 1), after(alone, {{delta, 2}, {delta, 1}})) << rule->name << " round " << number;
      EXPECT_EQ(cluster_of(moved, 0), base_of(0)) << rule->name;
    }
  }
}

// A cluster that was moved once and is chosen by nobody then: momentum of before does not move it on.
TEST(ClusterRounds, LeaveWhatTheStrategyCarriesOfAClusterThatNobodyChose) {
  FrozenRound round(StrategySettings::of("fedavgm"), stack(), with_clusters);
  const std::vector<float> delta(kValues, 0.1f);
  const std::vector<float> first = after(round, {update_of(round, 0, delta, 1), update_of(round, 1, delta, 1)});
  const std::vector<float> second = after(round, {update_of(round, 1, delta, 1)});
  EXPECT_EQ(cluster_of(second, 0), cluster_of(first, 0));
  const std::vector<float> third = after(round, {update_of(round, 0, delta, 1)});
  // momentum 0.9, rate 0.3: the step after 0.1 is of 0.19, as if the second round had not been.
  EXPECT_NEAR(cluster_of(third, 0)[0], cluster_of(second, 0)[0] + 0.3f * 0.19f, 1e-6);
}

// 50 updates in a row chose others: it becomes one near to the largest, as that was before the round, and the strategy
// has forgotten what it had of it.
TEST(ClusterRounds, BeginAnewWithAClusterThatNobodyChooses) {
  FrozenRound round(StrategySettings::of("fedavgm"), stack(), with_clusters);
  const std::vector<float> delta(kValues, 0.01f);
  const auto ten_updates = [&](std::vector<uint32_t> chosen) {
    std::vector<TestUpdate> updates;
    for (size_t i = 0; i < 10; ++i) updates.push_back(update_of(round, chosen[i % chosen.size()], delta, 1));
    return after(round, updates);
  };
  std::vector<float> before = ten_updates({0, 1, 2});
  const std::vector<float> left = cluster_of(before, 1);
  for (int idle = 1; idle < 5; ++idle) {
    before = ten_updates({0, 0, 2});
    EXPECT_EQ(cluster_of(before, 1), left) << "to the bit";
  }
  const std::vector<float> moved = ten_updates({0, 0, 2});
  const std::vector<float> source = cluster_of(before, 0), begun = cluster_of(moved, 1);
  double squares = 0, apart = 0;
  for (uint64_t i = 0; i < kValues; ++i) {
    squares += static_cast<double>(source[i]) * static_cast<double>(source[i]);
    apart += std::pow(static_cast<double>(begun[i]) - static_cast<double>(source[i]), 2);
  }
  EXPECT_GT(apart / squares, 0.2 * kClusterRestartSpread * kClusterRestartSpread) << "not the same";
  EXPECT_LT(apart / squares, 5 * kClusterRestartSpread * kClusterRestartSpread) << "and near";
  const std::vector<float> next = ten_updates({0, 1, 2});
  EXPECT_NEAR(cluster_of(next, 1)[0], begun[0] + 0.3f * 0.01f, 1e-6) << "without the momentum of before";
  EXPECT_EQ(round.base_.optimizer_state.has_value(), true);
}

// What is counted lies in the strategy's state, also of a strategy that has none; a round that is finalized twice draws
// the same.
TEST(ClusterRounds, BeginAnewTheSameWayIfARoundIsFinalizedAgain) {
  FrozenRound round(StrategySettings(), stack(), with_clusters);
  const std::vector<TestUpdate> all(kClusterIdleUpdates, update_of(round, 2, std::vector<float>(kValues, 0.01f), 1));
  round.add_partial("p", all);
  const auto first = round.finalize(), second = round.finalize();
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->model.digest, second->model.digest);
  EXPECT_EQ(first->model.optimizer_state, second->model.optimizer_state);
  const std::vector<float> values = round.weights_of(first->model);
  EXPECT_NE(cluster_of(values, 0), base_of(0));
  EXPECT_NE(cluster_of(values, 0), cluster_of(values, 1)) << "each is drawn by itself";
  const auto stored = decode_optimizer_state(round.blobs_.bytes_of(*first->model.optimizer_state));
  ASSERT_OK(stored);
  EXPECT_EQ(stored->header.vectors, 0);
  EXPECT_EQ(stored->header.idle_updates, (std::vector<uint32_t>{0, 0, 0}));
}

// Scalars that no honest devices tell: nothing of it is divided by.
TEST(ClusterRounds, KeepAClusterWhoseWeightOnlyLiesCanMake) {
  FrozenRound round(StrategySettings(), stack(), with_clusters);
  TestUpdate lie = update_of(round, 0, std::vector<float>(kValues, 0.1f), 1);
  lie.values[kClusters * kValues] = 1e-6f;
  lie.values[kClusters * kValues + 1] = -64;
  const std::vector<float> moved = after(round, {lie});
  EXPECT_EQ(cluster_of(moved, 0), base_of(0));
  EXPECT_EQ(cluster_of(moved, 1), base_of(1));
}

}  // namespace
}  // namespace coterie
