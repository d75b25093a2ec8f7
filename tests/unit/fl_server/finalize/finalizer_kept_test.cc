// A round whose updates were kept: what its rule makes of them moves the model as a mean would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregation/robust/registry.h"
#include "tests/unit/fl_server/finalize/kept_updates_fixture.h"

namespace coterie {
namespace {

using test::add_kept;
using test::device;
using test::FrozenRound;
using test::OneUpdate;
using test::some_values;
using testing::Pointwise;

constexpr size_t kValues = 2 * 32 * 1024 + 4321;  // three tiles, the last one short
const StrategySettings kFedAvg = StrategySettings::of("fedavg");

std::function<void(HorizontalSettings&)> with(const AggregationSettings& aggregation, uint32_t weight_max = 1) {
  return [=](HorizontalSettings& settings) {
    settings.aggregation = aggregation;
    settings.update.weight_max = weight_max;
    settings.rounds.over_selection = 2;
  };
}

std::vector<OneUpdate> some_updates(uint8_t count, size_t values = kValues) {
  std::vector<OneUpdate> updates;
  for (uint8_t i = 1; i <= count; ++i) updates.push_back({i, some_values(i, values, 1), 1});
  return updates;
}

TEST(FinalizerKept, MovesTheModelByTheMedian) {
  const std::vector<float> base = some_values(9, kValues, 3);
  FrozenRound round(kFedAvg, base, with(AggregationSettings::of("median")));
  const std::vector<OneUpdate> updates = some_updates(5);
  NormHistogram norms;
  norms.counts[30] = updates.size();
  add_kept(round, "p", updates, norms);
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  EXPECT_EQ(finalized->model.update_norms, norms);
  std::vector<float> expected = base;
  for (size_t i = 0; i < kValues; ++i) {
    std::vector<float> values;
    for (const OneUpdate& update : updates) values.push_back(update.values[i]);
    std::ranges::sort(values);
    expected[i] += values[2];
  }
  EXPECT_EQ(round.weights_of(finalized->model), expected);
  EXPECT_EQ(finalized->totals.updates, 5u);
}

TEST(FinalizerKept, EveryRuleGivesTheSameBytesHoweverTheUpdatesWereBatched) {
  const std::vector<float> base = some_values(3, kValues, 1);
  const std::vector<OneUpdate> all = some_updates(7);
  for (const RobustRule* rule : robust_rules()) {
    const auto settings = with(AggregationSettings::of(rule->name));
    FrozenRound one(kFedAvg, base, settings), several(kFedAvg, base, settings);
    add_kept(one, "node-0/1/1", all);
    add_kept(several, "node-1/1/1", {all[6], all[0]});
    add_kept(several, "node-0/1/1", {all[3]});
    add_kept(several, "node-0/1/2", {all[5], all[2], all[1], all[4]});
    const auto first = one.finalize(), second = several.finalize();
    ASSERT_OK(first);
    ASSERT_OK(second);
    EXPECT_EQ(first->model.digest, second->model.digest) << rule->name;
    EXPECT_NE(first->model.digest, one.base_.digest) << rule->name;
  }
}

TEST(FinalizerKept, TheStrategyGetsItAsTheMean) {
  const std::vector<float> base = some_values(3, 100, 1);
  const StrategySettings adam = StrategySettings::of("fedadam").with("server_learning_rate", 0.1f);
  FrozenRound median(adam, base, with(AggregationSettings::of("median")));
  FrozenRound mean(adam, base);
  add_kept(median, "p",
           {{1, std::vector<float>(100, 0.5f)}, {2, std::vector<float>(100, 0.5f)}, {3, std::vector<float>(100, -60)}});
  mean.add_partial("p", {{std::vector<float>(100, 0.5f), 1}});
  const auto with_liar = median.finalize(), without = mean.finalize();
  ASSERT_OK(with_liar);
  ASSERT_OK(without);
  EXPECT_THAT(median.weights_of(with_liar->model), Pointwise(testing::FloatEq(), mean.weights_of(without->model)));
  EXPECT_TRUE(with_liar->model.optimizer_state.has_value());
}

TEST(FinalizerKept, WeightsCountWhereTheRuleWeighs) {
  const std::vector<float> base(64, 0);
  const auto settings = with(AggregationSettings::of("geometric_median").with("iterations", 1000), 9);
  FrozenRound round(kFedAvg, base, settings);
  add_kept(round, "p",
           {{1, std::vector<float>(64, 1), 9}, {2, std::vector<float>(64, 2)}, {3, std::vector<float>(64, 5)}});
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  EXPECT_THAT(round.weights_of(finalized->model), testing::Each(testing::FloatNear(1, 1e-3f)));
  EXPECT_EQ(finalized->totals.weight, 11u);
}

TEST(FinalizerKept, ARoundOfTooFewUpdatesForTheRuleIsNone) {
  FrozenRound round(kFedAvg, some_values(3, 10, 1), with(AggregationSettings::of("krum")));
  add_kept(round, "p", some_updates(4, 10));
  EXPECT_ERROR(round.finalize(), ErrorCode::invalid_argument, "krum needs 5 updates, and the round has 4");
}

class FinalizerKeptDamage : public testing::Test {
 protected:
  FinalizerKeptDamage() {
    for (const OneUpdate& update : some_updates(3, 10)) EXPECT_OK(kept_.add(update.values, 1, device(update.device)));
    lanes_.assign(kept_.lanes().begin(), kept_.lanes().end());
  }
  // What the store has: `lanes_` as the partial of `accepted`.
  Status finalize(const std::vector<uint8_t>& accepted = {1, 2, 3}) {
    const PartialSumHeader header{round_.round_.key, "p", static_cast<uint32_t>(accepted.size()), accepted.size(),
                                  lanes_.size()};
    RoundTotals totals;
    totals.updates = totals.weight = accepted.size();
    std::vector<AcceptRow> rows;
    for (const uint8_t number : accepted) rows.push_back({device(number)});
    const Digest blob = round_.put_partial(header, lanes_);
    const PartialRecord record{"p", round_.round_.key, totals, blob};
    EXPECT_TRUE(std::holds_alternative<BatchDone>(round_.rounds_.accept_batch(record, rows)));
    const auto finalized = round_.finalize();
    return finalized ? Status() : Status(finalized.error());
  }

  FrozenRound round_{kFedAvg, some_values(3, 10, 1), with(AggregationSettings::of("median"))};
  KeptUpdates kept_{10, round_.fixed_point()};
  std::vector<uint64_t> lanes_;
};

TEST_F(FinalizerKeptDamage, NoneIsFine) { EXPECT_OK(finalize()); }

TEST_F(FinalizerKeptDamage, AnUpdateOfADeviceThatHasNoReceipt) {
  EXPECT_ERROR(finalize({1, 2, 4}), ErrorCode::data_loss, "that are accepted are others");
}

TEST_F(FinalizerKeptDamage, ADeviceTwice) {
  std::copy_n(lanes_.begin(), 2, lanes_.begin() + static_cast<std::ptrdiff_t>(KeptLayout{10}.lanes()));
  EXPECT_ERROR(finalize(), ErrorCode::data_loss, "that are accepted are others");
}

TEST_F(FinalizerKeptDamage, AWeightThatNoPlanAllows) {
  lanes_[KeptLayout::kWeightLane] = 0;
  EXPECT_ERROR(finalize(), ErrorCode::data_loss, "weight 0");
}

TEST_F(FinalizerKeptDamage, AValueThatIsNoNumber) {
  lanes_[KeptLayout::kValuesLane] = ~uint64_t{0};
  EXPECT_ERROR(finalize(), ErrorCode::data_loss, "no number");
}

TEST_F(FinalizerKeptDamage, LanesOfASum) {
  lanes_.resize(10);
  EXPECT_ERROR(finalize(), ErrorCode::data_loss, "is not what its row says");
}

}  // namespace
}  // namespace coterie
