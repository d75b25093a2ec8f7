// Rounds whose updates have the trained values alone: what they move, and what keeps its bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "proto/messages/lora_pairs.h"
#include "scheduler/job/central_noise.h"
#include "tests/unit/fl_server/finalize/kept_updates_fixture.h"

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
    if (!rule->scalars.empty()) continue;  // devices tell how far it goes: strategy_test, closed_forms_test
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

// Norms of each device's own: no update has them, and the server's keep the bits that the first version has.
TEST(TrainedRounds, LeaveWhatIsADevicesOwnToTheBit) {
  const std::vector<float> base = base_values();
  for (const Statistics statistics : {Statistics::averaged, Statistics::pooled}) {
    FrozenRound round(StrategySettings(), model_of(base), [statistics](HorizontalSettings& settings) {
      settings.training.personal = PersonalSettings{.norms = true};
      settings.strategy.statistics = statistics;
    });
    ASSERT_EQ(round.update_values(), kLastCount + kFirstCount);
    const std::vector<float> update(kLastCount + kFirstCount, 0.25f);
    const std::vector<float> moved = after(round, {{update, 1}, {update, 3}});
    ASSERT_EQ(moved.size(), kValues);
    EXPECT_TRUE(std::equal(moved.begin() + kMean, moved.end(), base.begin() + kMean));
    for (uint64_t i = 0; i < kLastCount; ++i) EXPECT_NEAR(moved[kLast + i], base[kLast + i] + 0.25f, 1e-6);
    for (uint64_t i = 0; i < kFirstCount; ++i) EXPECT_NEAR(moved[kFirst + i], base[kFirst + i] + 0.25f, 1e-6);
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
  round.add_partial("p", {{std::vector<float>(kLastCount), 1}});
  round.move(RoundState::frozen);  // noise is reserved in the step that follows
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  const std::vector<float> moved = round.weights_of(finalized->model);
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

// The noise is B's alone, and as large as without companions: least squares by A find it in what the weights moved by.
TEST(TrainedRounds, OfLoraWithNoiseOfTheServerHaveItInB) {
  constexpr uint32_t kGoal = 4, kRank = 2;
  const std::vector<float> base = base_values();
  const LoraSettings lora{.rank = kRank, .alpha = 6, .pattern = "*.weight", .fixed_a_seed = 9};
  FrozenRound round(StrategySettings(), model_of(base, true), [&](HorizontalSettings& settings) {
    settings.training.lora = lora;
    settings.update.clip_l2 = 1;
    settings.update.weight_max = 1;
    settings.rounds.goal_count = kGoal;
    settings.privacy = {SecurityLevel::none, 1.5, 1e-6, 100};
  });
  const uint64_t count = round.update_values();
  ASSERT_EQ(count, kRank * (kIn + kOut));
  round.add_partial("p", {{std::vector<float>(count), 1}});
  round.move(RoundState::frozen);
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  const std::vector<float> moved = round.weights_of(finalized->model);
  EXPECT_TRUE(std::equal(moved.begin() + kMean, moved.end(), base.begin() + kMean)) << "no weight, no noise";

  const CentralNoise noise = central_noise_of(round.job_.spec.horizontal(), count).value();
  const double sigma = std::ldexp(noise.sigma, -static_cast<int>(noise.fraction_bits)) / kGoal;
  const std::vector<LoraPair> pairs = *lora_pairs(two_layers(true), lora);
  const std::vector<float> a_of_all = draw_lora_a(pairs, lora);
  const float* a = a_of_all.data();
  double squares = 0;
  for (const LoraPair& pair : pairs) {
    double aa[3] = {};  // A'A, which is symmetric
    for (uint64_t i = 0; i < pair.in; ++i, a += kRank) {
      aa[0] += double(a[0]) * double(a[0]);
      aa[1] += double(a[0]) * double(a[1]);
      aa[2] += double(a[1]) * double(a[1]);
    }
    a -= pair.in * kRank;
    for (uint64_t j = 0; j < pair.out; ++j) {
      const auto w = [&](uint64_t i) {
        const uint64_t place = pair.first_value + i * pair.out + j;
        return (double(moved[place]) - double(base[place])) / double(lora.scale());
      };
      double aw[2] = {};
      for (uint64_t i = 0; i < pair.in; ++i) {
        for (uint64_t k = 0; k < kRank; ++k) aw[k] += double(a[i * kRank + k]) * w(i);
      }
      const double det = aa[0] * aa[2] - aa[1] * aa[1];
      const double b[2] = {(aa[2] * aw[0] - aa[1] * aw[1]) / det, (aa[0] * aw[1] - aa[1] * aw[0]) / det};
      squares += (b[0] * b[0] + b[1] * b[1]) / (sigma * sigma);
      for (uint64_t i = 0; i < pair.in; ++i) {
        EXPECT_NEAR(w(i), double(a[i * kRank]) * b[0] + double(a[i * kRank + 1]) * b[1], 1e-5) << "nothing but A B";
      }
    }
    a += pair.in * kRank;
  }
  // Chi-square with 32 degrees of freedom: each end is passed once in a million.
  EXPECT_GT(squares, 8);
  EXPECT_LT(squares, 80);
}

// Rounds of a job with LoRA beside rounds whose model is its B and nothing else. Both get the same updates: whatever a
// round does with them, the first model is to move by the product of what the second moves by.
class LoraBesidePlain {
 public:
  explicit LoraBesidePlain(
      const StrategySettings& strategy,
      const std::function<void(HorizontalSettings&)>& change = [](HorizontalSettings&) {})
      : adapted_(strategy, model_of(base_values(), true),
                 [&](HorizontalSettings& settings) {
                   change(settings);
                   settings.training.lora = lora_;
                 }),
        plain_(strategy, std::vector<float>(2 * (kIn + kOut)), change) {}

  void run(const std::function<void(FrozenRound&)>& add) {
    ASSERT_EQ(adapted_.update_values(), plain_.update_values());
    const std::vector<float> before = adapted_.weights_of(adapted_.base_), b_before = plain_.weights_of(plain_.base_);
    std::vector<FinalizedRound> done;
    for (FrozenRound* round : {&adapted_, &plain_}) {
      add(*round);
      round->move(RoundState::frozen);
      const auto finalized = round->finalize();
      ASSERT_OK(finalized);
      done.push_back(*finalized);
    }
    expect_product(before, adapted_.weights_of(done[0].model), b_before, plain_.weights_of(done[1].model));
    ASSERT_EQ(done[0].model.optimizer_state.has_value(), done[1].model.optimizer_state.has_value());
    if (done[0].model.optimizer_state) EXPECT_EQ(state_of(adapted_, done[0].model), state_of(plain_, done[1].model));
    adapted_.commit_frozen(done[0]);
    plain_.commit_frozen(done[1]);
  }

 private:
  void expect_product(const std::vector<float>& before, const std::vector<float>& after,
                      const std::vector<float>& b_before, const std::vector<float>& b_after) const {
    const std::vector<LoraPair> pairs = *lora_pairs(two_layers(true), lora_);
    const std::vector<float> a = draw_lora_a(pairs, lora_);
    size_t a_first = 0, b_first = 0;
    double moved = 0;
    for (const LoraPair& pair : pairs) {
      for (uint64_t i = 0; i < pair.in * pair.out; ++i) {
        double product = 0;
        for (uint64_t k = 0; k < pair.rank; ++k) {
          const size_t b = b_first + k * pair.out + i % pair.out;
          product += double(a[a_first + i / pair.out * pair.rank + k]) * (double(b_after[b]) - double(b_before[b]));
        }
        const uint64_t place = pair.first_value + i;
        EXPECT_NEAR(after[place], double(before[place]) + double(lora_.scale()) * product, 1e-4) << place;
        moved = std::max(moved, std::abs(product));
      }
      a_first += pair.a_values();
      b_first += pair.b_values();
    }
    EXPECT_GT(moved, 1e-3);
    EXPECT_TRUE(std::equal(after.begin() + kMean, after.end(), before.begin() + kMean));
  }
  static Bytes state_of(FrozenRound& round, const ModelRecord& model) {
    const Bytes blob = round.blobs_.bytes_of(*model.optimizer_state);
    const auto stored = decode_optimizer_state(blob);
    EXPECT_OK(stored);
    return stored ? Bytes(stored->payload.begin(), stored->payload.end()) : Bytes();
  }

  const LoraSettings lora_{.rank = 2, .alpha = 6, .pattern = "*.weight", .fixed_a_seed = 9};
  FrozenRound adapted_, plain_;
};

void add_two(FrozenRound& round) {
  const std::vector<float> one = test::some_values(2 * round.round_.number, round.update_values(), 0.5),
                           other = test::some_values(2 * round.round_.number + 1, round.update_values(), 0.5);
  round.add_partial("p" + std::to_string(round.round_.number), {{one, 1}, {other, 1}});
}

// Its state, and scaffold's control part.
TEST(TrainedRounds, OfLoraMoveBByEveryStrategyAndItsState) {
  for (const StrategyRule* rule : strategies()) {
    if (!rule->scalars.empty()) continue;  // devices tell how far it goes: strategy_test, closed_forms_test
    SCOPED_TRACE(rule->name);
    LoraBesidePlain rounds(StrategySettings::of(rule->name));
    for (int number = 1; number <= 3; ++number) rounds.run(add_two);
  }
}

TEST(TrainedRounds, OfLoraKeepUpdatesOfBForARuleThatLooksAtEach) {
  for (const char* rule : {"median", "krum"}) {
    SCOPED_TRACE(rule);
    LoraBesidePlain rounds(StrategySettings::of("fedadam"), [&](HorizontalSettings& settings) {
      settings.aggregation = AggregationSettings::of(rule);
      settings.update.weight_max = 1;
      settings.rounds.over_selection = 2;
    });
    for (int number = 1; number <= 2; ++number) {
      rounds.run([](FrozenRound& round) {
        std::vector<test::OneUpdate> updates;
        for (uint8_t i = 1; i <= 5; ++i) {
          const uint64_t seed = 10 * round.round_.number + i;
          updates.push_back({i, test::some_values(seed, round.update_values(), 0.5), 1});
        }
        test::add_kept(round, "p" + std::to_string(round.round_.number), updates);
      });
    }
  }
}

}  // namespace
}  // namespace coterie
