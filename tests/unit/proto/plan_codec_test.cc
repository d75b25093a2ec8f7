#include <cmath>
#include <limits>

#include "tests/support/matchers.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

using test::changed;
using test::expect_accepted;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// A plan has one set of rules: whoever makes it and whoever receives it must say the same, except that the maker's
// mistake is an argument and the receiver sees bad bytes.
template <typename Change>
void expect_bad(std::string_view words, Change change) {
  const Plan plan = changed<Plan>(change);
  EXPECT_ERROR(validate(plan), ErrorCode::invalid_argument, words);
  test::expect_rejected<Plan>(words, change);
}

template <typename Change>
void expect_good(Change change) {
  EXPECT_OK(validate(changed<Plan>(change)));
  expect_accepted<Plan>(change);
}

TEST(Plan, SaysWhichJobIsWrong) {
  expect_bad("job", [](Plan& p) { p.job = JobId(""); });
  expect_bad("job", [](Plan& p) { p.job = JobId(std::string(65, 'j')); });
}

TEST(Plan, LimitsTrainingByName) {
  expect_bad("loss", [](Plan& p) { p.training.loss = static_cast<Loss>(0); });
  expect_bad("loss", [](Plan& p) { p.training.loss = static_cast<Loss>(3); });
  expect_bad("batch_size", [](Plan& p) { p.training.batch_size = 0; });
  expect_bad("batch_size", [](Plan& p) { p.training.batch_size = 4097; });
  expect_bad("local_epochs", [](Plan& p) { p.training.local_epochs = 0; });
  expect_bad("local_epochs", [](Plan& p) { p.training.local_epochs = 1001; });
  expect_good([](Plan& p) { p.training.batch_size = 4096; });
  expect_good([](Plan& p) { p.training.local_epochs = 1000; });
}

TEST(Plan, LimitsEveryOptimizerSettingByName) {
  using Set = void (*)(OptimizerSettings&, float);
  struct Rule {
    const char* name;
    Set set;
    std::vector<float> bad;
    std::vector<float> good;
  };
  const float above_one = std::nextafter(1.0f, 2.0f);
  const float below_one = std::nextafter(1.0f, 0.0f);
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<Rule> rules = {
      {"learning_rate",
       [](OptimizerSettings& o, float v) { o.learning_rate = v; },
       {0, -tiny, 1.000001e6f},
       {tiny, 1e6f}},
      {"momentum", [](OptimizerSettings& o, float v) { o.momentum = v; }, {-tiny, above_one}, {0, 1}},
      {"weight_decay", [](OptimizerSettings& o, float v) { o.weight_decay = v; }, {-tiny, 1.000001e6f}, {0, 1e6f}},
      {"beta1", [](OptimizerSettings& o, float v) { o.beta1 = v; }, {-tiny, 1}, {0, below_one}},
      {"beta2", [](OptimizerSettings& o, float v) { o.beta2 = v; }, {-tiny, 1}, {0, below_one}},
      {"epsilon", [](OptimizerSettings& o, float v) { o.epsilon = v; }, {0, -tiny, above_one}, {tiny, 1}},
  };
  for (const Rule& rule : rules) {
    std::vector<float> bad = rule.bad;
    bad.insert(bad.end(), {kNaN, kInf, -kInf});
    const auto with = [&](float value) {
      return [&rule, value](Plan& p) {
        p.training.optimizer.kind = OptimizerKind::adam;
        rule.set(p.training.optimizer, value);
      };
    };
    for (float value : bad) expect_bad(rule.name, with(value));
    for (float value : rule.good) expect_good(with(value));
  }
  expect_bad("optimizer", [](Plan& p) { p.training.optimizer.kind = static_cast<OptimizerKind>(0); });
  expect_bad("optimizer", [](Plan& p) { p.training.optimizer.kind = static_cast<OptimizerKind>(3); });
}

// SGD does not use Adam's settings; they may be absent (zero), but a plan never holds a number that is none.
TEST(Plan, OfSgdStillHoldsOnlyFiniteNumbers) {
  expect_good([](Plan& p) { p.training.optimizer.beta1 = p.training.optimizer.epsilon = 0; });
  expect_bad("beta1", [](Plan& p) { p.training.optimizer.beta1 = kNaN; });
  expect_bad("beta2", [](Plan& p) { p.training.optimizer.beta2 = kInf; });
  expect_bad("epsilon", [](Plan& p) { p.training.optimizer.epsilon = -kInf; });
}

TEST(Plan, LimitsTheUpdateByName) {
  expect_bad("encoding", [](Plan& p) { p.update.encoding = static_cast<UpdateEncoding>(0); });
  expect_bad("encoding", [](Plan& p) { p.update.encoding = static_cast<UpdateEncoding>(3); });
  expect_good([](Plan& p) { p.update.encoding = UpdateEncoding::float32_pooled; });
  expect_bad("value_count", [](Plan& p) { p.update.value_count = 0; });
  expect_bad("value_count", [](Plan& p) { p.update.value_count = (1ull << 32) + 1; });
  expect_good([](Plan& p) { p.update.value_count = 1ull << 32; });
  for (float value : {-1.0f, 1.1e9f, kNaN, kInf}) {
    expect_bad("clip_l2", [value](Plan& p) { p.update.clip_l2 = value; });
  }
  expect_good([](Plan& p) { p.update.clip_l2 = 0; });
}

TEST(Plan, ContainsTheRulesOfFixedPoint) {
  expect_bad("lane_bits", [](Plan& p) { p.update.fixed_point.lane_bits = 32; });
  expect_bad("fraction_bits", [](Plan& p) { p.update.fixed_point.fraction_bits = 51; });
  expect_bad("value_abs_max", [](Plan& p) { p.update.fixed_point.value_abs_max = kNaN; });
  expect_bad("weight_max", [](Plan& p) { p.update.fixed_point.weight_max = 0; });
  expect_bad("contributors_max", [](Plan& p) { p.update.fixed_point.contributors_max = 0; });
  expect_bad("does not fit", [](Plan& p) { p.update.fixed_point.fraction_bits = 50; });
}

TEST(Plan, NamesItsChoices) {
  EXPECT_EQ(to_string(Loss::softmax_cross_entropy), "softmax_cross_entropy");
  EXPECT_EQ(to_string(Loss::mean_squared_error), "mean_squared_error");
  EXPECT_EQ(to_string(OptimizerKind::sgd), "sgd");
  EXPECT_EQ(to_string(OptimizerKind::adam), "adam");
}

}  // namespace
}  // namespace coterie
