// Rounds whose updates have the trained values alone: what they move, and what keeps its bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "scheduler/job/central_noise.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::TestUpdate;

constexpr uint64_t kIn = 6, kOut = 10;
// Where they lie: a frozen and a trained layer, and a norm between them.
constexpr uint64_t kLast = 0, kFirst = 64, kMean = 128, kVariance = 144, kScale = 160, kShift = 176, kValues = 192;
constexpr uint64_t kLastCount = kOut * kIn, kFirstCount = kIn * kOut;

ModelGraph two_layers(bool norm_is_frozen = false) {
  const auto stored = [](const char* name, TensorRole role, uint64_t first, Shape shape) {
    return TensorInfo{.name = name, .role = role, .shape = std::move(shape), .payload_offset = first * sizeof(float)};
  };
  ModelGraph graph;
  graph.name = "two";
  graph.tensors = {{.name = "x", .role = TensorRole::input, .shape = {kIn}},
                   stored("last.weight", TensorRole::parameter, kLast, {kOut, kIn}),
                   stored("first.weight", TensorRole::parameter, kFirst, {kIn, kOut}),
                   stored("mean", TensorRole::state, kMean, {kOut}),
                   stored("variance", TensorRole::state, kVariance, {kOut}),
                   stored("scale", TensorRole::parameter, kScale, {kOut}),
                   stored("shift", TensorRole::parameter, kShift, {kOut}),
                   {.name = "h"},
                   {.name = "n"},
                   {.name = "y"}};
  NormAttributes norm;
  norm.is_frozen = norm_is_frozen;
  graph.ops = {{OpKind::dense, "first", {0, 2, kNoTensor}, {7}, default_attributes(OpKind::dense)},
               {OpKind::batch_norm, "norm", {7, 5, 6, 3, 4}, {8}, norm},
               {OpKind::dense, "last", {8, 1, kNoTensor}, {9}, default_attributes(OpKind::dense)}};
  graph.inputs = {0};
  graph.output = 9;
  return graph;
}

std::vector<float> base_values() {
  std::vector<float> values = test::some_values(1, kValues, 1);
  for (uint64_t i = 0; i < kOut; ++i) values[kVariance + i] = 0.5f + std::abs(values[kVariance + i]);
  for (const auto& [first, end] : {std::pair(kLast + kLastCount, kFirst), std::pair(kFirst + kFirstCount, kMean),
                                   std::pair(kMean + kOut, kVariance), std::pair(kVariance + kOut, kScale),
                                   std::pair(kScale + kOut, kShift), std::pair(kShift + kOut, kValues)}) {
    std::fill(values.begin() + static_cast<ptrdiff_t>(first), values.begin() + static_cast<ptrdiff_t>(end), 0.0f);
  }
  return values;
}

Bytes model_of(const std::vector<float>& values, bool norm_is_frozen = false) {
  Bytes file = encode_head(two_layers(norm_is_frozen), values.size() * sizeof(float));
  const ByteView payload = test::bytes_of(values);
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

// With `goes_on` the next round is on top of it.
std::vector<float> after(FrozenRound& round, const std::vector<TestUpdate>& updates, bool goes_on = false) {
  round.add_partial("p" + std::to_string(round.round_.number), updates);
  const auto finalized = round.finalize();
  EXPECT_OK(finalized);
  if (!finalized) return {};
  std::vector<float> values = round.weights_of(finalized->model);
  if (goes_on) round.commit(*finalized);
  return values;
}

const auto last_layer_alone = [](HorizontalSettings& settings) {
  settings.training.train_last = 1;
  settings.strategy.statistics = Statistics::pooled;
};

TEST(TrainedRounds, MoveWhatIsTrainedAndLeaveAllElseToTheBit) {
  const std::vector<float> base = base_values();
  for (const StrategyRule* rule : strategies()) {
    FrozenRound round(StrategySettings::of(rule->name), model_of(base), last_layer_alone);
    const uint64_t trained = kLastCount + 2 * kOut;
    ASSERT_EQ(round.job_.trained_value_count, trained) << rule->name;
    std::vector<float> weights = base;
    for (uint64_t number = 1; number <= 2; ++number) {  // the second has the strategy's state
      std::vector<float> update = test::some_values(number, round.update_values(), 0.01);
      const std::vector<float> moved = after(round, {{update, 1}, {update, 3}}, true);
      ASSERT_EQ(moved.size(), kValues);
      EXPECT_TRUE(std::equal(moved.begin() + kFirst, moved.begin() + kMean, base.begin() + kFirst)) << rule->name;
      EXPECT_TRUE(std::equal(moved.begin() + kScale, moved.end(), base.begin() + kScale)) << rule->name;
      for (uint64_t i = 0; i < kLastCount; ++i) {
        if (std::string_view(rule->name) == "fedavg") EXPECT_NEAR(moved[i], weights[i] + update[i], 1e-6);
      }
      EXPECT_NE(moved[kLast], weights[kLast]) << rule->name;
      for (uint64_t c = 0; c < kOut; ++c) {
        EXPECT_NEAR(moved[kMean + c], weights[kMean + c] + update[kLastCount + c], 1e-6) << "it lies behind the layer";
      }
      weights = moved;
    }
  }
}

// A job that was created before updates could leave something out: its devices send every value, and go on so.
TEST(TrainedRounds, OfAnOlderJobHaveEveryValue) {
  const std::vector<float> base = base_values();
  FrozenRound whole(StrategySettings(), model_of(base), last_layer_alone);
  whole.job_.trained_value_count = 0;
  EXPECT_EQ(whole.update_values(), kValues);
  std::vector<float> update(kValues);
  for (uint64_t i = 0; i < kLastCount; ++i) update[kLast + i] = 0.25f;
  const std::vector<float> moved = after(whole, {{update, 2}});
  FrozenRound round(StrategySettings(), model_of(base), last_layer_alone);
  std::vector<float> same(round.update_values());
  std::fill_n(same.begin(), kLastCount, 0.25f);
  EXPECT_EQ(moved, after(round, {{same, 2}})) << "to the bit";
}

TEST(TrainedRounds, OfAPlanThatIsNotOfTheModelAreDataLoss) {
  FrozenRound round(StrategySettings(), model_of(base_values()), last_layer_alone);
  ++round.job_.trained_value_count;
  round.add_partial("p", {{std::vector<float>(round.update_values()), 1}});
  EXPECT_ERROR(round.finalize(), ErrorCode::data_loss, "not of the job's model");
}

// The noise is drawn for the coordinates of an update: what is frozen has none, and keeps its bits.
TEST(TrainedRounds, WithNoiseOfTheServerHaveItWhereTheyTrainAlone) {
  constexpr uint32_t kGoal = 4;
  const std::vector<float> base = base_values();
  FrozenRound round(StrategySettings(), model_of(base, true), [](HorizontalSettings& settings) {
    settings.training.train_last = 1;
    settings.update.clip_l2 = 1;
    settings.update.weight_max = 1;
    settings.rounds.goal_count = kGoal;
    settings.privacy = {SecurityLevel::none, 1.5, 1e-6, 100};
  });
  ASSERT_EQ(round.update_values(), kLastCount);
  const std::vector<float> moved = after(round, {{std::vector<float>(kLastCount), 1}});
  ASSERT_EQ(moved.size(), kValues);
  EXPECT_TRUE(std::equal(moved.begin() + kLastCount, moved.end(), base.begin() + kLastCount));
  const CentralNoise noise = central_noise_of(round.job_.spec.horizontal(), kLastCount).value();
  const double sigma = std::ldexp(noise.sigma, -static_cast<int>(noise.fraction_bits)) / kGoal;
  double squares = 0;
  for (uint64_t i = 0; i < kLastCount; ++i) squares += std::pow((moved[i] - base[i]) / sigma, 2);
  EXPECT_LT(std::fabs(squares - kLastCount) / std::sqrt(2.0 * kLastCount), 5) << "each trained value has its share";
}

// B is the whole update, and A is nobody's to send.
TEST(TrainedRounds, OfLoraAddTheProductOfTheMean) {
  const std::vector<float> base = base_values();
  const LoraSettings lora{.rank = 2, .alpha = 6, .pattern = "*.weight", .fixed_a_seed = 9};
  const auto with_lora = [&](HorizontalSettings& settings) { settings.training.lora = lora; };
  FrozenRound round(StrategySettings(), model_of(base, true), with_lora);
  ASSERT_EQ(round.job_.trained_value_count, 2 * (kIn + kOut));
  const std::vector<float> one = test::some_values(3, round.update_values(), 0.5),
                           three = test::some_values(4, round.update_values(), 0.5);
  const std::vector<float> moved = after(round, {{one, 1}, {three, 3}});
  ASSERT_EQ(moved.size(), kValues);
  const std::vector<LoraPair> pairs = *lora_pairs(two_layers(), lora);
  ASSERT_EQ(pairs.size(), 2u);
  const std::vector<float> a = draw_lora_a(pairs, lora);
  size_t a_first = 0, b_first = 0;
  for (const LoraPair& pair : pairs) {
    for (uint64_t i = 0; i < pair.in; ++i) {
      for (uint64_t j = 0; j < pair.out; ++j) {
        double product = 0;
        for (uint64_t k = 0; k < pair.rank; ++k) {
          const size_t b = b_first + k * pair.out + j;
          product += double(a[a_first + i * pair.rank + k]) * (double(one[b]) + 3 * double(three[b])) / 4;
        }
        const uint64_t place = pair.first_value + i * pair.out + j;
        EXPECT_NEAR(moved[place], double(base[place]) + 3 * product, 1e-5);
      }
    }
    a_first += pair.a_values();
    b_first += pair.b_values();
  }
  EXPECT_TRUE(std::equal(moved.begin() + kMean, moved.end(), base.begin() + kMean)) << "no weight, no change";
}

}  // namespace
}  // namespace coterie
