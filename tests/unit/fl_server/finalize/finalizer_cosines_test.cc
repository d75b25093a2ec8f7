// The cosines of a round's kept updates with what its rule has made of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "aggregation/robust/registry.h"
#include "proto/messages/cosine_buckets.h"
#include "tests/unit/fl_server/finalize/kept_updates_fixture.h"

namespace coterie {
namespace {

using test::add_kept;
using test::FrozenRound;
using test::OneUpdate;
using test::some_values;

constexpr size_t kValues = 2 * 32 * 1024 + 4321;  // three tiles, the last one short
const StrategySettings kFedAvg = StrategySettings::of("fedavg");

std::function<void(HorizontalSettings&)> with_rule(const char* rule) {
  return [=](HorizontalSettings& settings) {
    settings.aggregation = AggregationSettings::of(rule);
    settings.update.weight_max = 1;
    settings.rounds.over_selection = 2;
  };
}

CosineHistogram cosines_of(FrozenRound& round, const std::vector<OneUpdate>& updates) {
  add_kept(round, "p", updates);
  const auto finalized = round.finalize();
  EXPECT_OK(finalized);
  if (!finalized || !finalized->model.update_cosines) return {};
  return *finalized->model.update_cosines;
}

std::vector<float> times(float factor, std::vector<float> values) {
  for (float& value : values) value *= factor;
  return values;
}

TEST(FinalizerCosines, OfEqualUpdatesAreOneAndOfAnOppositeOneMinusOne) {
  const std::vector<float> honest = some_values(1, kValues, 0.1);
  for (const RobustRule* rule : robust_rules()) {
    FrozenRound round(kFedAvg, some_values(9, kValues, 3), with_rule(rule->name));
    std::vector<OneUpdate> updates;
    for (uint8_t device = 1; device <= 7; ++device) updates.push_back({device, honest});
    updates[3].values = times(-1, honest);
    updates[5].values = times(0.5, honest);  // as long as it likes
    const CosineHistogram cosines = cosines_of(round, updates);
    EXPECT_EQ(cosines.counts.front(), 1u) << rule->name;
    EXPECT_EQ(cosines.counts.back(), 6u) << rule->name;
    EXPECT_EQ(cosines.undirected, 0u) << rule->name;
  }
}

// The median of each coordinate is 1, 1, 1, 0.
TEST(FinalizerCosines, AreWithWhatTheRuleHasMadeBeforeTheServersOptimizer) {
  const std::vector<OneUpdate> updates = {
      {1, {1, 1, 1, 0}}, {2, {1, 1, 1, 0}}, {3, {1, 1, 1, 4}}, {4, {1, 0, 0, 0}}, {5, {2, 2, 2, -4}}};
  CosineHistogram expected;
  for (const double cosine : {1.0, 1.0, 0.39735970711951313, 0.57735026918962576, 0.65465367070797709})
    ++expected.counts[cosine_bucket(cosine)];
  const StrategySettings adam = StrategySettings::of("fedadam").with("server_learning_rate", 0.1f);
  for (const StrategySettings& strategy : {kFedAvg, adam}) {
    FrozenRound round(strategy, std::vector<float>(4, 2), with_rule("median"));
    EXPECT_EQ(cosines_of(round, updates), expected);
  }
}

TEST(FinalizerCosines, AreNotThereForWhoOrWhatDoesNotMove) {
  const std::vector<float> nothing(100), step(100, 0.25f);
  FrozenRound some(kFedAvg, nothing, with_rule("median"));
  const CosineHistogram one_idle = cosines_of(some, {{1, step}, {2, nothing}, {3, step}});
  EXPECT_EQ(one_idle.undirected, 1u);
  EXPECT_EQ(one_idle.counts.back(), 2u);
  FrozenRound none(kFedAvg, nothing, with_rule("median"));
  const CosineHistogram stands_still = cosines_of(none, {{1, step}, {2, nothing}, {3, times(-1, step)}});
  EXPECT_EQ(stands_still.undirected, 3u);
  EXPECT_EQ(stands_still.directed(), 0u);
}

TEST(FinalizerCosines, AreTheSameHoweverTheUpdatesWereBatched) {
  const std::vector<float> base = some_values(3, kValues, 1);
  std::vector<OneUpdate> all;
  for (uint8_t i = 1; i <= 7; ++i) all.push_back({i, some_values(i, kValues, 1)});
  FrozenRound one(kFedAvg, base, with_rule("krum")), several(kFedAvg, base, with_rule("krum"));
  const CosineHistogram together = cosines_of(one, all);
  add_kept(several, "node-1/1/1", {all[6], all[0]});
  add_kept(several, "node-0/1/1", {all[3], all[5], all[1]});
  EXPECT_EQ(cosines_of(several, {all[2], all[4]}), together);
  EXPECT_EQ(together.counts.back(), 1u) << "the one that krum takes is the step";
  EXPECT_EQ(together.updates(), 7u);
}

// Running statistics have another scale, and padding is nobody's word: were they to count, nothing else would.
TEST(FinalizerCosines, AreOfParametersAlone) {
  const Bytes model = test::normed_model({1, 1, 1, 1, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 1, 1, 1});
  FrozenRound round(kFedAvg, model, with_rule("median"));
  std::vector<OneUpdate> updates;
  for (const uint8_t device : {1, 2, 3, 4}) {
    std::vector<float> values(64, 1);  // as the model lies: scale, bias, mean and variance, 4 of 16 values each
    const float step = device == 4 ? -0.01f : 0.01f;
    for (const size_t first : {0, 16}) std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(first), 4, step);
    updates.push_back({device, values});
  }
  const CosineHistogram cosines = cosines_of(round, updates);
  EXPECT_EQ(cosines.counts.front(), 1u);
  EXPECT_EQ(cosines.counts.back(), 3u);
}

TEST(FinalizerCosines, AreUnknownWhereUpdatesWereAddedUp) {
  FrozenRound round(kFedAvg, std::vector<float>(8, 1));
  round.add_partial("p", {{std::vector<float>(8, 0.5f), 1}, {std::vector<float>(8, 0.25f), 1}});
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  EXPECT_EQ(finalized->model.update_cosines, std::nullopt);
}

}  // namespace
}  // namespace coterie
