// Every strategy against its formula, written here once more: in double, value by value, from the papers.
#include "aggregation/strategy/strategy_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "base/random.h"
#include "proto/messages/training_state.h"

namespace coterie {
namespace {

using testing::ElementsAre;

constexpr float kFactor = 1.25f;  // of strategies that have one

// What a strategy carries, and one way to move a model by it, or a piece of the model.
struct Moved {
  explicit Moved(const StrategySettings& strategy, std::vector<float> start) : settings(strategy), weights(start) {
    for (size_t i = 0; i < settings.rule->state_vectors; ++i) {
      const float first = settings.rule->state_start ? settings.rule->state_start(i, settings.values) : 0;
      state.emplace_back(weights.size(), first);
    }
  }
  void by(std::span<const float> mean, size_t offset, size_t count) {
    std::vector<std::span<float>> pieces;
    for (std::vector<float>& vector : state) pieces.push_back(std::span(vector).subspan(offset, count));
    settings.rule->apply({.mean = mean.subspan(offset, count),
                          .settings = settings.values,
                          .state = pieces,
                          .weights = std::span(weights).subspan(offset, count),
                          .updates = updates,
                          .factor = settings.rule->step_factor != nullptr ? kFactor : 1});
  }
  void by(std::span<const float> mean) { by(mean, 0, weights.size()); }

  StrategySettings settings;
  std::vector<float> weights;
  std::vector<std::vector<float>> state;
  uint64_t updates = 10;
};

std::vector<float> random_values(size_t count, uint64_t seed, double scale = 1) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.normal() * scale);
  return values;
}

// One coordinate of a model, in double.
struct Coordinate {
  double w = 0, m = 0, v = 0;
};
using Formula = std::function<void(Coordinate&, double mean, std::span<const float> settings)>;

struct Case {
  const char* name;
  std::vector<float> settings;
  double v_start;
  Formula step;
};

std::vector<Case> cases() {
  const auto adaptive = [](Coordinate& c, double eta, double tau) { c.w += eta * c.m / (std::sqrt(c.v) + tau); };
  // What is no matrix.
  const Formula adam_behind_two = [=](Coordinate& c, double g, auto s) {
    c.m = static_cast<double>(s[2]) * c.m + (1 - static_cast<double>(s[2])) * g;
    c.v = static_cast<double>(s[3]) * c.v + (1 - static_cast<double>(s[3])) * g * g;
    adaptive(c, static_cast<double>(s[0]), static_cast<double>(s[4]));
  };
  return {
      {"fedavg", {0.7f}, 0, [](Coordinate& c, double g, auto s) { c.w += static_cast<double>(s[0]) * g; }},
      {"fedavgm",
       {0.7f, 0.8f},
       0,
       [](Coordinate& c, double g, auto s) {
         c.m = static_cast<double>(s[1]) * c.m + g;
         c.w += static_cast<double>(s[0]) * c.m;
       }},
      {"fedadagrad",
       {0.05f, 0.3f, 0.02f},
       4e-4,
       [=](Coordinate& c, double g, auto s) {
         c.m = static_cast<double>(s[1]) * c.m + (1 - static_cast<double>(s[1])) * g;
         c.v += g * g;
         adaptive(c, static_cast<double>(s[0]), static_cast<double>(s[2]));
       }},
      {"fedadam",
       {0.05f, 0.9f, 0.99f, 1e-3f},
       0,
       [=](Coordinate& c, double g, auto s) {
         c.m = static_cast<double>(s[1]) * c.m + (1 - static_cast<double>(s[1])) * g;
         c.v = static_cast<double>(s[2]) * c.v + (1 - static_cast<double>(s[2])) * g * g;
         adaptive(c, static_cast<double>(s[0]), static_cast<double>(s[3]));
       }},
      {"fedyogi",
       {0.05f, 0.9f, 0.9f, 0.01f},
       1e-4,
       [=](Coordinate& c, double g, auto s) {
         c.m = static_cast<double>(s[1]) * c.m + (1 - static_cast<double>(s[1])) * g;
         const double sign = c.v > g * g ? 1 : c.v < g * g ? -1 : 0;
         c.v -= (1 - static_cast<double>(s[2])) * g * g * sign;
         adaptive(c, static_cast<double>(s[0]), static_cast<double>(s[3]));
       }},
      {"fedlion",
       {0.05f, 0.9f, 0.99f},
       0,
       [](Coordinate& c, double g, auto s) {
         const double towards = static_cast<double>(s[1]) * c.m + (1 - static_cast<double>(s[1])) * g;
         c.w += static_cast<double>(s[0]) * (towards > 0 ? 1 : towards < 0 ? -1 : 0);
         c.m = static_cast<double>(s[2]) * c.m + (1 - static_cast<double>(s[2])) * g;
       }},
      {"fedmuon", {0.05f, 0.8f, 0.9f, 0.99f, 1e-3f}, 0, adam_behind_two},
      {"fedshampoo", {0.05f, 0.01f, 0.9f, 0.99f, 1e-3f}, 0, adam_behind_two},
      {"feddyn",
       {0.5f, 0.25f, 40},
       0,
       [](Coordinate& c, double g, auto s) {
         // m is the paper's h: h <- h - alpha |P| / m mean, and the model is moved by -h / alpha
         c.m -= static_cast<double>(s[1]) * 10 / static_cast<double>(s[2]) * g;
         c.w += static_cast<double>(s[0]) * g - c.m / static_cast<double>(s[1]);
       }},
      {"scaffold", {0.5f, 40, 1}, 0, [](Coordinate& c, double g, auto s) { c.w += static_cast<double>(s[0]) * g; }},
      {"fedexp",
       {0.5f, 0.01f, 2, 9},
       0,
       [](Coordinate& c, double g, auto s) { c.w += static_cast<double>(s[0]) * kFactor * g; }},
      {"qffl",
       {0.5f, 2, 4},
       0,
       [](Coordinate& c, double g, auto s) { c.w += static_cast<double>(s[0]) * kFactor * g; }},
      {"mime_lite", {0.5f, 0.75f}, 0, [](Coordinate& c, double g, auto s) { c.w += static_cast<double>(s[0]) * g; }},
      {"afl",
       {0.5f, 3, 0.1f, 4},
       0,
       [](Coordinate& c, double g, auto s) { c.w += static_cast<double>(s[0]) * kFactor * g; }},
  };
}

TEST(Strategies, FollowTheirFormulasOverManyRounds) {
  constexpr size_t kCount = 200;
  for (const Case& one : cases()) {
    StrategySettings settings = StrategySettings::of(one.name);
    ASSERT_EQ(settings.values.size(), one.settings.size()) << one.name;
    settings.values = one.settings;
    Moved moved(settings, random_values(kCount, 1));
    std::vector<Coordinate> expected(kCount);
    for (size_t i = 0; i < kCount; ++i) expected[i] = {moved.weights[i], 0, one.v_start};
    for (uint64_t round = 0; round < 50; ++round) {
      const std::vector<float> mean = random_values(kCount, 100 + round, 0.1);
      moved.by(mean);
      for (size_t i = 0; i < kCount; ++i) one.step(expected[i], mean[i], settings.values);
    }
    for (size_t i = 0; i < kCount; ++i) EXPECT_NEAR(moved.weights[i], expected[i].w, 1e-4) << one.name << " " << i;
  }
}

TEST(Strategies, EachHasAFormulaHere) {
  std::vector<std::string_view> tested;
  for (const Case& one : cases()) tested.push_back(one.name);
  EXPECT_EQ(tested, strategy_names());
}

// The finalizer moves a model tile by tile: the bits must not depend on where it is cut.
TEST(Strategies, GiveTheSameBitsInTilesOfAnySize) {
  constexpr size_t kCount = 1'000;
  for (const StrategyRule* rule : strategies()) {
    Moved whole(StrategySettings::of(rule->name), random_values(kCount, 4));
    for (const uint64_t round : {5, 6, 7}) whole.by(random_values(kCount, round));
    for (const size_t tile : {1u, 7u, 64u, 999u}) {
      Moved pieces(StrategySettings::of(rule->name), random_values(kCount, 4));
      for (const uint64_t round : {5, 6, 7}) {
        const std::vector<float> mean = random_values(kCount, round);
        for (size_t at = 0; at < kCount; at += tile) pieces.by(mean, at, std::min(tile, kCount - at));
      }
      EXPECT_EQ(pieces.weights, whole.weights) << rule->name << " in tiles of " << tile;
      EXPECT_EQ(pieces.state, whole.state) << rule->name << " in tiles of " << tile;
    }
  }
}

// Four rounds of two values, worked out by others in double (eta .1, beta .9 and .99, tau .001; Adagrad with beta1 0).
TEST(Strategies, GiveTheStepsThatWereWorkedOutElsewhere) {
  const std::vector<std::vector<float>> means = {{.5f, -.01f}, {.4f, .02f}, {-.1f, .02f}, {0, .03f}};
  const auto after = [&](StrategySettings settings, std::vector<float> values, double v_start) {
    settings.values = std::move(values);
    Moved moved(settings, {0, 0});
    if (moved.state.size() == 2) moved.state[1].assign(2, static_cast<float>(v_start));
    for (const std::vector<float>& mean : means) moved.by(mean);
    return moved.weights;
  };
  const auto near = [](double a, double b) {
    return ElementsAre(testing::FloatNear(static_cast<float>(a), 1e-6f),
                       testing::FloatNear(static_cast<float>(b), 1e-6f));
  };
  const auto of = [](const char* name) { return StrategySettings::of(name); };
  EXPECT_THAT(after(of("fedavgm"), {.1f, .9f}, 0), near(0.26135, 0.008781));
  EXPECT_THAT(after(of("fedadam"), {.1f, .9f, .99f, .001f}, 0), near(0.4230915241986799, 0.16787120629025729));
  EXPECT_THAT(after(of("fedadam"), {.1f, .9f, .99f, .001f}, 1e-6), near(0.42303457198714445, 0.16917371512714718));
  EXPECT_THAT(after(of("fedyogi"), {.1f, .9f, .99f, .001f}, 1e-6), near(0.42068787038857536, 0.16850027530112524));
  EXPECT_THAT(after(of("fedadagrad"), {.1f, 0, .001f}, 0), near(0.14676595293380216, 0.12830337567500028));
}

// A CPU that can would else add the product unrounded, and a simulation there would have another model than the server.
TEST(FedAvg, RoundsTheProductBeforeItIsAdded) {
  constexpr size_t kCount = 1'000;
  const std::vector<float> start = random_values(kCount, 1), mean = random_values(kCount, 2);
  Moved moved(StrategySettings::of("fedavg").with("server_learning_rate", 0.3f), start);
  moved.by(mean);
  for (size_t i = 0; i < kCount; ++i) {
    const volatile float product = 0.3f * mean[i];
    EXPECT_EQ(moved.weights[i], start[i] + product) << i;
  }
}

TEST(FedLion, LeavesWhatNoDeviceMovesToTheBit) {
  Moved moved(StrategySettings::of("fedlion").with("server_learning_rate", 0.5f), {0.1f, 0.1f, 0.1f});
  for (int round = 0; round < 3; ++round) moved.by(std::vector<float>{1e-6f, -4, 0});
  EXPECT_THAT(moved.weights, ElementsAre(testing::FloatEq(1.6f), testing::FloatEq(-1.4f), 0.1f));
}

TEST(FedYogi, NeverLetsItsSecondMomentFallBelowZero) {
  Moved moved(StrategySettings::of("fedyogi").with("beta2", 0), {0, 0});
  for (const float mean : {5.0f, 1.0f, 0.0f, 3.0f, 2.9999f, 0.1f}) {
    moved.by(std::vector<float>{mean, -mean});
    for (const float v : moved.state[1]) EXPECT_GE(v, 0);
    for (const float w : moved.weights) EXPECT_TRUE(std::isfinite(w));
  }
}

// The control alone is moved by the control parts, the model alone by the rest.
TEST(Scaffold, MovesItsControlByTheShareOfTheDevicesThatARoundCounts) {
  Moved moved(StrategySettings::of("scaffold").with("population_size", 40), {0, 0});
  moved.by(std::vector<float>{1, -2});
  EXPECT_THAT(moved.state[0], ElementsAre(0, 0));
  const std::array<std::span<float>, 1> state = {std::span(moved.state[0])};
  const auto control_by = [&](const std::vector<float>& mean, uint64_t updates) {
    moved.settings.rule->apply_control(
        {.mean = mean, .settings = moved.settings.values, .state = state, .weights = {}, .updates = updates});
  };
  control_by({1, -2}, 10);
  EXPECT_THAT(moved.state[0], ElementsAre(0.25f, -0.5f));
  control_by({1, 0}, 4);
  EXPECT_THAT(moved.state[0], ElementsAre(0.35f, -0.5f));
  EXPECT_THAT(moved.weights, ElementsAre(1, -2));
}

float factor_of(const StrategySettings& settings, double scalar, double squared_norm) {
  return settings.rule->step_factor(
      {.scalars = std::span(&scalar, 1), .squared_norm = squared_norm, .settings = settings.values});
}

TEST(FedExp, StepsFartherTheMoreDevicesAreAtOdds) {
  const StrategySettings settings = StrategySettings::of("fedexp").with("epsilon", 0).with("factor_max", 8);
  EXPECT_EQ(factor_of(settings, 3, 3), 1) << "devices that agree have a half";
  EXPECT_EQ(factor_of(settings, 12, 3), 2);
  EXPECT_EQ(factor_of(settings.with("epsilon", 1), 12, 3), 1.5f);
  EXPECT_EQ(factor_of(settings, 1e9, 3), 8) << "what devices claim has an end";
  for (const double lie : {0.0, -1e9}) EXPECT_EQ(factor_of(settings, lie, 3), 1) << lie;
  EXPECT_EQ(factor_of(settings, 1, 0), 1) << "a mean of nothing";
}

TEST(Qffl, DividesByTheMeanOfTheSteps) {
  const StrategySettings settings = StrategySettings::of("qffl");
  EXPECT_EQ(factor_of(settings, 0.25, 7), 4);
  for (const double lie : {0.0, -3.0}) EXPECT_EQ(factor_of(settings, lie, 7), 0) << lie;
}

// Rounds of groups whose devices have these shares of the weight, 10 in all, and these mean losses.
struct Groups {
  explicit Groups(const StrategySettings& strategy)
      : settings(strategy),
        state(settings.rule->round_values(settings.values), settings.rule->state_start(0, settings.values)) {}
  float round(const std::vector<double>& shares, const std::vector<double>& losses) {
    std::vector<double> scalars = shares;
    for (size_t g = 0; g < shares.size(); ++g) scalars.push_back(shares[g] * losses[g]);
    const std::vector<float> before = state;
    const StrategyRound told{
        .scalars = scalars, .settings = settings.values, .weight = 10, .rounds = rounds++, .state = before};
    settings.rule->move_state(told, state);
    return settings.rule->step_factor(told);
  }
  std::vector<float> weights() const { return {state.begin(), state.begin() + static_cast<long>(state.size() / 2)}; }
  std::vector<float> shares() const { return {state.begin() + static_cast<long>(state.size() / 2), state.end()}; }

  StrategySettings settings;
  std::vector<float> state;
  uint64_t rounds = 0;
};
StrategySettings afl(uint32_t groups, float rate) {
  return StrategySettings::of("afl")
      .with("groups", static_cast<float>(groups))
      .with("group_learning_rate", rate)
      .with("loss_max", 4);
}
auto near(std::vector<float> values) { return testing::Pointwise(testing::FloatNear(1e-6f), std::move(values)); }

TEST(Afl, MovesWeightToTheGroupThatLosesMore) {
  Groups groups(afl(3, 0.1f));
  EXPECT_THAT(groups.weights(), near({1 / 3.0f, 1 / 3.0f, 1 / 3.0f}));
  groups.round({0.5, 0.3, 0.2}, {1, 2, 3});
  EXPECT_THAT(groups.weights(), near({1 / 3.0f - 0.1f, 1 / 3.0f, 1 / 3.0f + 0.1f})) << "lambda + gamma (F - mean F)";
  EXPECT_THAT(groups.shares(), near({0.5f, 0.3f, 0.2f})) << "of all rounds so far";
  groups.round({0.1, 0.3, 0.6}, {0, 0, 4});
  groups.round({0.5, 0.3, 0.2}, {0, 0, 4});
  EXPECT_THAT(groups.shares(), near({1.1f / 3, 0.3f, 1 / 3.0f}));
  groups.round({0.5, 0.3, 0.2}, {0, 0, 4});
  EXPECT_EQ(groups.weights()[0], 0) << "none falls below 0";
  groups.round({0.5, 0.3, 0.2}, {0, 0, 4});
  groups.round({0.5, 0.3, 0.2}, {0, 0, 4});
  EXPECT_THAT(groups.weights(), near({0, 0, 1}));
  groups.round({0.5, 0.3, 0.2}, {4, 0, 0});
  EXPECT_THAT(groups.weights(), near({0.2f, 0, 0.8f})) << "and what was at 0 comes back";
}

TEST(Afl, LeavesTheWeightOfAGroupOfWhichNobodyCame) {
  Groups groups(afl(3, 0.1f));
  const float before = groups.weights()[1];
  groups.round({0.5, 0, 0.5}, {1, 0, 3});
  EXPECT_EQ(groups.weights()[1], before) << "to the bit";
  EXPECT_THAT(groups.weights(), near({1 / 3.0f - 0.1f, 1 / 3.0f, 1 / 3.0f + 0.1f}));
  const std::vector<float> two = groups.weights();
  groups.round({0, 0, 1}, {0, 0, 4});
  EXPECT_EQ(groups.weights(), two) << "one alone says nothing of the others";
  const std::vector<float> state = groups.state;
  EXPECT_EQ(groups.round({0.04, 0.04, 0.04}, {4, 0, 0}), 0) << "less than half a device's least weight is nobody";
  EXPECT_EQ(groups.state, state);
}

// Devices multiply by s = a / max a, a = lambda / p: the factor is 1 / mean of s.
TEST(Afl, DividesByTheMeanOfWhatDevicesMultiplyBy) {
  Groups groups(afl(2, 0));
  EXPECT_EQ(groups.round({0.8, 0.2}, {1, 1}), 1) << "in the first round nothing is known";
  EXPECT_FLOAT_EQ(groups.round({0.8, 0.2}, {1, 1}), 1 / (0.8f * 0.25f + 0.2f));
  EXPECT_FLOAT_EQ(groups.round({1, 0}, {1, 0}), 4) << "of the group that weighs less alone";
  groups.state = {1, 0, 0.5f, 0.5f};
  EXPECT_EQ(groups.round({0, 1}, {0, 1}), 0) << "nothing is left of what they sent";
}

TEST(Afl, KeepsWithinWhatSomeDevicesMayHaveWhateverIsClaimed) {
  for (const double lie : {-1e9, -1.0, 0.0, 2.0, 1e9}) {
    for (size_t at = 0; at < 4; ++at) {
      Groups groups(afl(2, 0.1f));
      for (int round = 0; round < 3; ++round) {
        std::vector<double> told = {0.5, 0.5, 1, 1};
        told[at] = lie;
        const float factor = groups.round({told[0], told[1]}, {told[2], told[3]});
        EXPECT_TRUE(factor >= 0 && std::isfinite(factor)) << lie;
        for (const float value : groups.state) EXPECT_TRUE(value >= 0 && value <= 1.0001f) << lie << " at " << at;
        EXPECT_NEAR(groups.weights()[0] + groups.weights()[1], 1, 1e-6);
      }
    }
  }
}

// m <- beta m + g, and the state is beta m.
TEST(MimeLite, HandsOutItsMomentumTimesTheGradientsSoFar) {
  Moved moved(StrategySettings::of("mime_lite").with("momentum", 0.5f), {0, 0});
  const std::array<std::span<float>, 1> state = {std::span(moved.state[0])};
  const auto control_by = [&](const std::vector<float>& mean) {
    moved.settings.rule->apply_control(
        {.mean = mean, .settings = moved.settings.values, .state = state, .weights = {}, .updates = 3});
  };
  control_by({4, -8});
  EXPECT_THAT(moved.state[0], ElementsAre(2, -4));
  control_by({2, 0});
  EXPECT_THAT(moved.state[0], ElementsAre(2, -2));
  EXPECT_THAT(moved.weights, ElementsAre(0, 0));
}

// Whoever counts a quarter of the devices in a round moves its state by a quarter of what they moved theirs.
TEST(FedDyn, MovesItsStateByTheShareOfTheDevicesThatARoundCounts) {
  Moved moved(StrategySettings::of("feddyn").with("population_size", 40), {0, 0});
  moved.by(std::vector<float>{1, -2});
  EXPECT_THAT(moved.state[0], ElementsAre(0.25f, -0.5f));
  EXPECT_THAT(moved.weights, ElementsAre(1.25f, -2.5f));
  moved.updates = 4;
  moved.by(std::vector<float>{1, 0});
  EXPECT_THAT(moved.state[0], ElementsAre(0.35f, -0.5f));
}

TEST(StrategyRegistry, RowsAreWhatEverybodyCountsOn) {
  std::set<std::string> names;
  std::set<int> stored;
  for (const StrategyRule* rule : strategies()) {
    EXPECT_TRUE(names.insert(rule->name).second) << rule->name;
    EXPECT_GE(rule->stored_as, 1) << rule->name;
    EXPECT_TRUE(stored.insert(rule->stored_as).second) << rule->name << " is stored as another strategy is";
    EXPECT_LE(rule->state_vectors, kStateVectorsMax) << rule->name;
    ASSERT_FALSE(rule->settings.empty()) << rule->name;
    EXPECT_EQ(rule->apply_control != nullptr, has_control(rule->correction)) << rule->name;
    EXPECT_TRUE(!has_control(rule->correction) || rule->state_vectors == 1) << rule->name << ": devices read one";
    EXPECT_EQ(rule->step_factor != nullptr, !rule->scalars.empty()) << rule->name;
    EXPECT_LE(rule->scalars.size(), kScalarsMax) << rule->name;
    EXPECT_EQ(rule->round_values != nullptr, rule->move_state != nullptr) << rule->name;
    EXPECT_TRUE(!rule->round_values || (rule->state_vectors == 1 && rule->state_start && rule->step_factor))
        << rule->name << ": devices read one, and it moves with the factor";
    EXPECT_EQ(rule->move_matrix != nullptr, rule->matrix_side_max > 0) << rule->name;
    EXPECT_TRUE(!rule->move_matrix || (rule->state_vectors > 0 && !rule->is_linear && !rule->round_values))
        << rule->name << ": it keeps what it has of a matrix in the vectors";
    EXPECT_STREQ(rule->settings[0].name, "server_learning_rate") << rule->name;
    EXPECT_GT(rule->learning_rate_advised, 0) << rule->name;
    for (const StrategySetting& setting : rule->settings) {
      EXPECT_TRUE(setting.range.admits(setting.default_value)) << rule->name << " " << setting.name;
      EXPECT_FALSE(setting.range.admits(std::nanf(""))) << rule->name << " " << setting.name;
    }
    EXPECT_EQ(find_strategy(rule->name), rule);
  }
  EXPECT_EQ(find_strategy("fedsgd"), nullptr);
  EXPECT_EQ(find_strategy(""), nullptr);
  EXPECT_STREQ(default_strategy().name, "fedavg");
}

// Numbers and names that lie in databases: a row may be added, never changed.
TEST(StrategyRegistry, KeepsWhatIsStored) {
  EXPECT_EQ(find_strategy("fedavg")->stored_as, 1);
  EXPECT_EQ(find_strategy("fedadam")->stored_as, 2);
  EXPECT_EQ(find_strategy("fedadam")->state_vectors, 2);
  EXPECT_EQ(find_strategy("fedlion")->stored_as, 6);
  EXPECT_EQ(find_strategy("fedlion")->state_vectors, 1);
  EXPECT_EQ(find_strategy("feddyn")->stored_as, 7);
  EXPECT_EQ(find_strategy("feddyn")->state_vectors, 1);
  EXPECT_EQ(find_strategy("scaffold")->stored_as, 8);
  EXPECT_EQ(find_strategy("scaffold")->state_vectors, 1);
  EXPECT_EQ(find_strategy("fedexp")->stored_as, 9);
  EXPECT_EQ(find_strategy("qffl")->stored_as, 10);
  EXPECT_EQ(find_strategy("mime_lite")->stored_as, 11);
  EXPECT_EQ(find_strategy("afl")->stored_as, 12);
  EXPECT_EQ(find_strategy("fedmuon")->stored_as, 13);
  EXPECT_EQ(find_strategy("fedmuon")->state_vectors, 2);
  EXPECT_EQ(find_strategy("fedshampoo")->stored_as, 14);
  EXPECT_EQ(find_strategy("fedshampoo")->state_vectors, 5);
  EXPECT_EQ(StrategySettings::of("scaffold").value_of("option"), 2) << "of jobs that do not say it";
  EXPECT_THAT(StrategySettings::of("fedadam").values, ElementsAre(1.0f, 0.9f, 0.99f, 0.001f));
}

TEST(StrategySettings, AreComparedByRuleAndValue) {
  EXPECT_EQ(StrategySettings(), StrategySettings::of("fedavg"));
  EXPECT_NE(StrategySettings(), StrategySettings::of("fedadam"));
  EXPECT_NE(StrategySettings::of("fedadam"), StrategySettings::of("fedadam").with("tau", 0.5f));
}

}  // namespace
}  // namespace coterie
