// What finalizing computes, against the definition in plain double arithmetic.
#include "fl_server/finalize/finalizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/messages/norm_buckets.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::some_values;
using test::TestUpdate;

constexpr size_t kValues = 2 * 32 * 1024 + 4321;  // three tiles, the last one short
const StrategySettings kFedAvg = StrategySettings::of("fedavg").with("server_learning_rate", 0.5f);
const StrategySettings kFedAdam = StrategySettings::of("fedadam")
                                      .with("server_learning_rate", 0.1f)
                                      .with("beta1", 0.8f)
                                      .with("beta2", 0.9f)
                                      .with("tau", 1e-2f);

std::vector<TestUpdate> updates_from(uint64_t seed, size_t count, size_t values = kValues) {
  std::vector<TestUpdate> updates;
  for (size_t i = 0; i < count; ++i) {
    updates.push_back({some_values(seed * 100 + i, values, 2), static_cast<uint32_t>(1 + (seed + i * 37) % 16'384)});
  }
  return updates;
}

std::vector<double> mean_of(const std::vector<TestUpdate>& updates) {
  std::vector<double> mean(updates[0].values.size());
  double weight = 0;
  for (const TestUpdate& update : updates) {
    weight += update.weight;
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(update.values[i]) * update.weight;
  }
  for (double& value : mean) value /= weight;
  return mean;
}

void expect_near(const std::vector<float>& got, const std::vector<double>& expected, double bound = 2e-6) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], bound) << "value " << i;
}

// The base's seal is of the base's values: with it, whoever opened the next model would take it for damaged.
TEST(Finalizer, TakesTheSealOffTheNextModel) {
  Bytes model = test::plain_model(some_values(1, 64, 3));
  const auto place = seal_place(model);
  ASSERT_OK(place);
  ASSERT_TRUE(place->has_value());
  const auto seal_of = [&](Bytes& file) { return std::span(file).subspan(**place, 32); };
  std::ranges::fill(seal_of(model), uint8_t{0x5a});
  FrozenRound round(kFedAvg, model);
  round.add_partial("node-0/1/1", updates_from(2, 3, 64));
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  Bytes next = round.blobs_.bytes_of(finalized->model.digest);
  EXPECT_EQ(next.size(), model.size());
  EXPECT_THAT(seal_of(next), testing::Each(0));
}

TEST(Finalizer, MovesTheModelByTheWeightedMean) {
  const std::vector<float> base = some_values(1, kValues, 3);
  const std::vector<TestUpdate> updates = updates_from(2, 5);
  FrozenRound round(kFedAvg, base);
  round.add_partial("node-0/1/1", updates);
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);

  std::vector<double> expected = mean_of(updates);
  for (size_t i = 0; i < kValues; ++i) expected[i] = static_cast<double>(base[i]) + 0.5 * expected[i];
  expect_near(round.weights_of(finalized->model), expected);
  EXPECT_EQ(finalized->key, round.round_.key);
  EXPECT_EQ(finalized->model.version, ModelVersion(1));
  EXPECT_EQ(finalized->model.job, round.job_.id);
  EXPECT_EQ(finalized->model.bytes, round.base_.bytes);
  EXPECT_EQ(finalized->model.created, wall_time_from_unix_ms(7));
  EXPECT_FALSE(finalized->model.optimizer_state.has_value());
  EXPECT_EQ(finalized->totals.updates, 5u);
  EXPECT_EQ(finalized->totals.examples, 10 * finalized->totals.weight);
}

TEST(Finalizer, KeepsTheModelsHeadToTheByte) {
  FrozenRound round(kFedAvg, some_values(1, 100, 1));
  round.add_partial("p", updates_from(2, 1, 100));
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  const Bytes& before = round.blobs_.bytes_of(round.base_.digest);
  const Bytes& after = round.blobs_.bytes_of(finalized->model.digest);
  ASSERT_EQ(before.size(), after.size());
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 64, after.begin()));
  EXPECT_NE(before, after);
}

TEST(Finalizer, GivesTheSameBytesHoweverTheUpdatesWereBatched) {
  const std::vector<float> base = some_values(3, kValues, 1);
  const std::vector<TestUpdate> all = updates_from(4, 7);
  FrozenRound one(kFedAvg, base);
  one.add_partial("node-0/1/1", all);
  FrozenRound several(kFedAvg, base);
  several.add_partial("node-1/1/1", {all[6], all[0]});
  several.add_partial("node-0/1/1", {all[3]});
  several.add_partial("node-0/1/2", {all[5], all[2], all[1], all[4]});
  const auto first = one.finalize();
  const auto second = several.finalize();
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->model.digest, second->model.digest);
  EXPECT_EQ(first->totals.updates, second->totals.updates);
  EXPECT_EQ(first->totals.weight, second->totals.weight);
  EXPECT_EQ(second->totals.weight, several.header_of("", all).weight_sum);
}

TEST(Finalizer, GivesTheSameNamesWhenItIsDoneAgain) {
  FrozenRound round(kFedAdam, some_values(5, 1'000, 1));
  round.add_partial("p", updates_from(6, 3, 1'000));
  const auto first = round.finalize();
  const auto again = round.finalize();
  ASSERT_OK(first);
  ASSERT_OK(again);
  EXPECT_EQ(first->model.digest, again->model.digest);
  EXPECT_EQ(first->model.optimizer_state, again->model.optimizer_state);
}

TEST(Finalizer, CarriesFedAdamsMomentsFromRoundToRound) {
  std::vector<float> base = some_values(7, kValues, 1);
  FrozenRound round(kFedAdam, base);
  std::vector<double> weights(base.begin(), base.end()), first(kValues), second(kValues);
  for (uint64_t number = 1; number <= 3; ++number) {
    const std::vector<TestUpdate> updates = updates_from(10 + number, 4);
    round.add_partial("a" + std::to_string(number), {updates[0]});
    round.add_partial("b" + std::to_string(number), {updates[1], updates[2], updates[3]});
    const auto finalized = round.finalize();
    ASSERT_OK(finalized);
    const std::vector<double> mean = mean_of(updates);
    for (size_t i = 0; i < kValues; ++i) {
      first[i] = 0.8 * first[i] + 0.2 * mean[i];
      second[i] = 0.9 * second[i] + 0.1 * mean[i] * mean[i];
      weights[i] += 0.1 * first[i] / (std::sqrt(second[i]) + 1e-2);
    }
    expect_near(round.weights_of(finalized->model), weights);
    ASSERT_TRUE(finalized->model.optimizer_state.has_value());
    const auto state = decode_optimizer_state(round.blobs_.bytes_of(*finalized->model.optimizer_state));
    ASSERT_OK(state);
    EXPECT_EQ(state->header.step, number);
    EXPECT_EQ(state->header.value_count, kValues);
    expect_near(test::values_of<float>(state->payload.first(kValues * sizeof(float))), first);
    expect_near(test::values_of<float>(state->payload.subspan(kValues * sizeof(float))), second);
    round.commit(*finalized);
  }
}

TEST(Finalizer, MovesTheModelByTheServersRateOfTheRound) {
  constexpr size_t kFew = 100;
  std::vector<float> base = some_values(7, kFew, 1);
  FrozenRound round(kFedAvg, base, [](HorizontalSettings& settings) {
    settings.schedules.server = {.kind = RateScheduleKind::step, .warmup_rounds = 2, .period = 1, .gamma = 0.5};
  });
  std::vector<double> weights(base.begin(), base.end());
  for (const double rate : {0.25, 0.5, 0.5, 0.25, 0.125}) {  // of 0.5
    const std::vector<TestUpdate> updates = updates_from(10 + round.round_.number, 4, kFew);
    round.add_partial("p" + std::to_string(round.round_.number), updates);
    const auto finalized = round.finalize();
    ASSERT_OK(finalized);
    const std::vector<double> mean = mean_of(updates);
    for (size_t i = 0; i < kFew; ++i) weights[i] += rate * mean[i];
    expect_near(round.weights_of(finalized->model), weights);
    round.commit(*finalized);
  }
}

// What a strategy carries, it carries by its row: every one of them, with as many vectors as it has.
TEST(Finalizer, CarriesTheStateOfEveryStrategy) {
  constexpr size_t kFew = 100;
  for (const StrategyRule* rule : strategies()) {
    if (!rule->scalars.empty()) continue;  // devices tell how far it goes: strategy_test, closed_forms_test
    std::vector<float> weights = some_values(21, kFew, 1);
    FrozenRound round(StrategySettings::of(rule->name), weights);
    std::vector<std::vector<float>> vectors;
    for (size_t i = 0; i < rule->state_vectors; ++i) {
      vectors.emplace_back(kFew,
                           rule->state_start ? rule->state_start(i, round.job_.spec.horizontal().strategy.values) : 0);
    }
    const std::vector<std::span<float>> state(vectors.begin(), vectors.end());
    for (uint64_t number = 1; number <= 3; ++number) {
      const std::vector<TestUpdate> updates = updates_from(30 + number, 1, kFew);
      round.add_partial("p" + std::to_string(number), updates);
      const auto finalized = round.finalize();
      ASSERT_OK(finalized);
      rule->apply({updates[0].values, round.job_.spec.horizontal().strategy.values, state, weights});
      expect_near(round.weights_of(finalized->model), {weights.begin(), weights.end()}, 1e-3);
      ASSERT_EQ(finalized->model.optimizer_state.has_value(), rule->state_vectors > 0) << rule->name;
      if (rule->state_vectors > 0) {
        const auto stored = decode_optimizer_state(round.blobs_.bytes_of(*finalized->model.optimizer_state));
        ASSERT_OK(stored);
        EXPECT_EQ(stored->header, (OptimizerStateHeader{rule->stored_as, number, kFew, rule->state_vectors}));
      }
      round.commit(*finalized);
    }
  }
}

// The model ends in the middle of a tile, and the second part begins there.
TEST(Finalizer, MovesTheControlByTheSecondPart) {
  std::vector<float> weights = some_values(41, kValues, 1);
  FrozenRound round(StrategySettings::of("scaffold").with("population_size", 8), weights);
  std::vector<float> control(kValues);
  for (uint64_t number = 1; number <= 2; ++number) {
    std::vector<TestUpdate> updates = updates_from(50 + number, 4, 2 * kValues);
    for (TestUpdate& update : updates) update.weight = 1;
    round.add_partial("p" + std::to_string(number), updates);
    const auto finalized = round.finalize();
    ASSERT_OK(finalized);
    const std::vector<double> mean = mean_of(updates);
    for (size_t i = 0; i < kValues; ++i) {
      weights[i] += static_cast<float>(mean[i]);
      control[i] += static_cast<float>(mean[kValues + i] * 4 / 8);
    }
    expect_near(round.weights_of(finalized->model), {weights.begin(), weights.end()});
    const Bytes blob = round.blobs_.bytes_of(*finalized->model.optimizer_state);
    const auto stored = decode_optimizer_state(blob);
    ASSERT_OK(stored);
    std::vector<float> moved(kValues);
    ASSERT_EQ(stored->payload.size(), kValues * sizeof(float));
    std::memcpy(moved.data(), stored->payload.data(), stored->payload.size());
    expect_near(moved, {control.begin(), control.end()});
    round.commit(*finalized);
  }
}

void add_with_norms(FrozenRound& round, const std::string& id, const std::vector<TestUpdate>& updates,
                    const std::optional<NormHistogram>& norms) {
  PartialSumHeader header = round.header_of(id, updates);
  header.norms = norms;
  round.accept(header, round.put_partial(header, round.lanes_of(updates)), updates.size());
}

NormHistogram norms_of(std::initializer_list<double> norms) {
  NormHistogram histogram;
  for (const double norm : norms) ++histogram.counts[norm_bucket(norm)];
  return histogram;
}

TEST(Finalizer, AddsUpHowLongTheUpdatesOfAllPartialsAre) {
  FrozenRound round({}, std::vector<float>(2));
  add_with_norms(round, "a", {{{1, 0}, 1}, {{0, 2}, 1}}, norms_of({1, 2}));
  add_with_norms(round, "b", {{{0, 1}, 1}}, norms_of({1}));
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  EXPECT_EQ(finalized->model.update_norms, norms_of({1, 1, 2}));
}

// A node of the version before counts nothing: of a part of the round no figure is made.
TEST(Finalizer, SaysNothingOfNormsThatNotAllPartialsHave) {
  FrozenRound round({}, std::vector<float>(2));
  add_with_norms(round, "a", {{{1, 0}, 1}}, norms_of({1}));
  add_with_norms(round, "b", {{{0, 1}, 1}}, std::nullopt);
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  EXPECT_EQ(finalized->model.update_norms, std::nullopt);
}

TEST(Finalizer, NeverMakesANumberThatIsNone) {
  // Lanes that no honest update gives: the extremes of the ring and everything between.
  for (const StrategySettings& strategy : {kFedAvg, kFedAdam}) {
    FrozenRound round(strategy, some_values(8, 1'000, 1e9));
    Prng prng(9);
    std::vector<uint64_t> lanes(1'000);
    for (uint64_t& lane : lanes) lane = prng.chance(0.5) ? prng.next() : (uint64_t{1} << 63) - prng.below(2);
    const PartialSumHeader header{round.round_.key, "p", 1, 1, 1'000};
    round.accept(header, round.put_partial(header, lanes), 1);
    const auto finalized = round.finalize();
    ASSERT_OK(finalized);
    for (float weight : round.weights_of(finalized->model)) ASSERT_TRUE(std::isfinite(weight));
  }
}

// ---- Evaluation

TEST(Finalizer, EvaluatesTheNewModelIfTheJobHasADataSet) {
  FrozenRound round(kFedAvg, some_values(1, 100, 1));
  round.add_partial("p", updates_from(2, 1, 100));
  Bytes model, dataset;
  const EvaluateModel evaluate = [&](const Bytes& m, const Bytes& d,
                                     const TrainingSettings& training) -> Result<ModelEvaluation> {
    model = m;
    dataset = d;
    EXPECT_EQ(training.loss, Loss::mean_squared_error);
    return ModelEvaluation{.loss = 0.25, .accuracy = 0.75, .heads = {{.output = "age", .mae = 2}}};
  };
  auto finalized = round.finalize(evaluate);
  ASSERT_OK(finalized);
  EXPECT_FALSE(finalized->model.evaluation_loss.has_value()) << "there is no data set";

  round.job_.spec.horizontal().training.loss = Loss::mean_squared_error;
  round.job_.spec.horizontal().evaluation = *round.blobs_.put(as_bytes("a data set"));
  finalized = round.finalize(evaluate);
  ASSERT_OK(finalized);
  EXPECT_EQ(finalized->model.evaluation_loss, 0.25);
  EXPECT_EQ(finalized->model.evaluation_accuracy, 0.75);
  EXPECT_EQ(finalized->model.evaluation_heads, (std::vector<EvaluatedHead>{{.output = "age", .mae = 2}}));
  EXPECT_EQ(model, round.blobs_.bytes_of(finalized->model.digest));
  EXPECT_EQ(as_text(dataset), "a data set");
  EXPECT_FALSE(round.finalize()->model.evaluation_loss.has_value()) << "there is nobody to evaluate";

  const auto failed =
      round.finalize([](const Bytes&, const Bytes&, const TrainingSettings&) -> Result<ModelEvaluation> {
        return Error(ErrorCode::malformed, "this is no data set");
      });
  EXPECT_ERROR(failed, ErrorCode::malformed, "no data set");
}

}  // namespace
}  // namespace coterie
