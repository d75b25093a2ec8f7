// Rounds of jobs with widths: each value moves by the mean of those devices that hold it, and one that nobody trained
// keeps its bits, whatever the strategy carries.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "proto/messages/model_widths.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::TestUpdate;

const std::vector<uint32_t> kWidths = {1'000'000, 500'000, 250'000};
constexpr uint64_t kValues = 48 + 2;  // of graph()

// 3 inputs, 4 hidden, 2 outputs: values 0..11 w1 [3, 4], 16..19 b1, 32..39 w2 [4, 2], 48..49 b2.
ModelGraph graph() {
  ModelGraph graph;
  graph.name = "perceptron";
  graph.tensors = {{.name = "x", .role = TensorRole::input, .shape = {3}},
                   {.name = "w1", .role = TensorRole::parameter, .shape = {3, 4}},
                   {.name = "b1", .role = TensorRole::parameter, .shape = {4}, .payload_offset = 64},
                   {.name = "w2", .role = TensorRole::parameter, .shape = {4, 2}, .payload_offset = 128},
                   {.name = "b2", .role = TensorRole::parameter, .shape = {2}, .payload_offset = 192},
                   {.name = "h"},
                   {.name = "y"}};
  graph.ops = {{OpKind::dense, "first", {0, 1, 2}, {5}, default_attributes(OpKind::dense)},
               {OpKind::dense, "last", {5, 3, 4}, {6}, default_attributes(OpKind::dense)}};
  graph.inputs = {0};
  graph.output = 6;
  return graph;
}

// The last width that has each value, worked out by hand; -1: padding.
const std::vector<int> kNarrowest = [] {
  std::vector<int> all(kValues, -1);
  for (const uint64_t row : {0, 4, 8, 16}) {
    all[row] = 2, all[row + 1] = 1, all[row + 2] = all[row + 3] = 0;
  }
  for (const uint64_t output : {0, 1}) {
    all[32 + output] = 2, all[34 + output] = 1, all[36 + output] = all[38 + output] = 0, all[48 + output] = 2;
  }
  return all;
}();

std::vector<float> base() {
  std::vector<float> values = test::some_values(10, kValues, 1);
  for (uint64_t i = 0; i < kValues; ++i) {
    if (kNarrowest[i] < 0) values[i] = 0;
  }
  return values;
}

Bytes model() {
  const std::vector<float> values = base();
  Bytes file = encode_head(graph(), kValues * sizeof(float));
  const ByteView payload = test::bytes_of(values);
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

const auto with_widths = [](HorizontalSettings& settings) { settings.training.widths = kWidths; };

// What a device sends that trained this width: zeros for what it has not.
TestUpdate update_of(FrozenRound& round, int width_class, const std::vector<float>& delta, uint32_t weight) {
  const float told = round.job_.spec.horizontal().update.value_abs_max;
  std::vector<float> values(kValues + kWidths.size() - 1);
  for (uint64_t i = 0; i < kValues; ++i) {
    if (kNarrowest[i] >= width_class) values[i] = delta[i];
  }
  for (int width = 0; width < 2; ++width)
    values[kValues + static_cast<uint64_t>(width)] = width_class <= width ? told : 0;
  return {values, weight};
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

TEST(WidthRounds, MoveEachValueByTheMeanOfThoseThatHoldIt) {
  FrozenRound round(StrategySettings(), model(), with_widths);
  ASSERT_EQ(round.update_values(), kValues + 2);
  const std::vector<std::vector<float>> deltas = {
      test::some_values(1, kValues, 0.1), test::some_values(2, kValues, 0.1), test::some_values(3, kValues, 0.1),
      test::some_values(4, kValues, 0.1)};
  const std::vector<int> classes = {0, 1, 2, 2};
  const std::vector<uint32_t> weights = {3, 1, 2, 5};
  std::vector<TestUpdate> updates;
  for (size_t i = 0; i < deltas.size(); ++i) updates.push_back(update_of(round, classes[i], deltas[i], weights[i]));
  const std::vector<float> moved = after(round, updates), before = base();
  ASSERT_EQ(moved.size(), kValues);
  for (uint64_t i = 0; i < kValues; ++i) {
    double sum = 0, weight = 0;
    for (size_t device = 0; device < deltas.size(); ++device) {
      if (kNarrowest[i] < classes[device]) continue;
      sum += weights[device] * static_cast<double>(deltas[device][i]);
      weight += weights[device];
    }
    EXPECT_NEAR(moved[i], before[i] + (weight > 0 ? sum / weight : 0), 1e-6) << i;
  }
}

// Nobody is wide: what only wide devices have stays to the bit, and so does the strategy's momentum there.
TEST(WidthRounds, LeaveWhatNobodyTrainedToTheBit) {
  for (const char* strategy : {"fedavg", "fedavgm", "fedadam"}) {
    FrozenRound round(StrategySettings::of(strategy), model(), with_widths);
    const std::vector<float> delta(kValues, 0.1f);
    const std::vector<float> first = after(round, {update_of(round, 0, delta, 1)});
    const std::vector<float> second = after(round, {update_of(round, 1, delta, 2), update_of(round, 2, delta, 1)});
    const std::vector<float> third = after(round, {update_of(round, 2, delta, 1)});
    for (uint64_t i = 0; i < kValues; ++i) {
      const int narrowest = kNarrowest[i];
      EXPECT_EQ(second[i] == first[i], narrowest <= 0) << strategy << " " << i;
      EXPECT_EQ(third[i] == second[i], narrowest <= 1) << strategy << " " << i;
    }
    if (std::string(strategy) != "fedavgm") continue;
    const std::vector<float> fourth = after(round, {update_of(round, 0, delta, 1)});
    // momentum 0.9, rate 0.3: the step after 0.1 is of 0.19, as if no round had been in between.
    EXPECT_NEAR(fourth[2], third[2] + 0.3f * 0.19f, 1e-6);
  }
}

// All devices train the widest: it is the round of a job without widths, to the bit, for every strategy there is.
TEST(WidthRounds, OfWholeModelsAreThoseOfAJobWithoutWidths) {
  for (const StrategyRule* rule : strategies()) {
    if (!rule->scalars.empty() || rule->correction != CorrectionKind::none) continue;
    FrozenRound wide(StrategySettings::of(rule->name), model(), with_widths);
    FrozenRound plain(StrategySettings::of(rule->name), model());
    for (uint64_t number = 1; number <= 3; ++number) {
      std::vector<float> delta = test::some_values(number, kValues, 0.05);
      for (uint64_t i = 0; i < kValues; ++i) {
        if (kNarrowest[i] < 0) delta[i] = 0;
      }
      EXPECT_EQ(after(wide, {update_of(wide, 0, delta, 2), update_of(wide, 0, delta, 1)}),
                after(plain, {{delta, 2}, {delta, 1}}))
          << rule->name << " round " << number;
    }
  }
}

TEST(WidthRounds, TakeTheTrainedValuesAlone) {
  const auto last = [](HorizontalSettings& settings) {
    settings.training.widths = kWidths;
    settings.training.train_last = 1;
  };
  FrozenRound round(StrategySettings(), model(), last);
  ASSERT_EQ(round.update_values(), 10 + 2u);  // w2 and b2
  const float told = round.job_.spec.horizontal().update.value_abs_max;
  const std::vector<float> moved =
      after(round, {{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, told, told}, 1}, {{3, 3, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0}, 1}});
  const std::vector<float> before = base();
  for (uint64_t i = 0; i < 32; ++i) EXPECT_EQ(moved[i], before[i]);
  EXPECT_NEAR(moved[32], before[32] + 2, 1e-6) << "both have it";
  EXPECT_NEAR(moved[34], before[34] + 1, 1e-6) << "the first alone";
  EXPECT_NEAR(moved[38], before[38] + 1, 1e-6);
  EXPECT_NEAR(moved[48], before[48] + 2, 1e-6);
}

// Scalars that no honest devices tell.
TEST(WidthRounds, AreMovedByALieNoFurtherThanItsWeight) {
  const std::vector<float> delta(kValues, 0.1f), before = base();
  {  // whose wide part only a lie holds: nothing is divided by it
    FrozenRound round(StrategySettings(), model(), with_widths);
    TestUpdate lie = update_of(round, 0, delta, 1);
    lie.values[kValues] = -64, lie.values[kValues + 1] = 1e-6f;
    const std::vector<float> moved = after(round, {lie});
    EXPECT_EQ(moved[2], before[2]);
    EXPECT_EQ(moved[1], before[1]);
    EXPECT_NEAR(moved[0], before[0] + 0.1f, 1e-6) << "all hold it, and nobody is asked";
  }
  {  // who takes its weight off the others': a value moves by no more than an update may
    FrozenRound round(StrategySettings(), model(), with_widths);
    const float whole = round.job_.spec.horizontal().update.value_abs_max;
    TestUpdate lie = update_of(round, 2, delta, 9);
    lie.values[kValues] = -whole * 9 / 10;
    const std::vector<float> moved = after(round, {update_of(round, 0, std::vector<float>(kValues, whole), 9), lie});
    EXPECT_LE(std::abs(moved[2] - before[2]), whole * 1.0001f);
    EXPECT_NEAR(moved[1], before[1] + whole, 1e-3) << "another width's divisor is its own";
  }
  {  // who says that fewer hold a narrow part than hold a wide one: the larger divisor counts
    FrozenRound round(StrategySettings(), model(), with_widths);
    TestUpdate lie = update_of(round, 2, delta, 1);
    lie.values[kValues + 1] = -0.9f * round.job_.spec.horizontal().update.value_abs_max;
    const std::vector<float> moved = after(round, {update_of(round, 0, delta, 1), lie});
    EXPECT_NEAR(moved[1], before[1] + 0.1f, 1e-6) << "as the wide part, which both tell truly";
    EXPECT_NEAR(moved[2], before[2] + 0.1f, 1e-6);
  }
}

}  // namespace
}  // namespace coterie
