// Each check on both sides of its threshold, with tensors whose statistics are known.
#include "device_sdk/watch/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "device_sdk/watch/watch_plan.h"

namespace coterie::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
using Floats = std::vector<float>;

Seen seen_of(const Floats& values) {
  return {.tensor = {ElementType::float32, values.data(), values.size()}, .now = statistics_of(values)};
}

// A weight that was `before` and is `now`.
Seen moved(const Floats& now, const Floats& before) {
  Seen seen = seen_of(now);
  seen.values = now;
  seen.before = before;
  seen.change = change_of(now, before);
  return seen;
}

// With settings beside the standards.
std::optional<Firing> fires(std::string_view name, const Seen& seen,
                            const std::vector<std::pair<std::string_view, double>>& settings = {}) {
  const Check* const check = find_check(name);
  EXPECT_NE(check, nullptr) << name;
  WatchedCheck watched(*check);
  for (const auto& [setting, value] : settings) watched.set(setting, value);
  return check->judge(watched.values, seen);
}

TEST(Check, OverflowCountsWhatIsNotFinite) {
  const Floats fine = {1, -2, 3e38f}, broken = {1, kNan, kInf, -kInf};
  for (const char* name : {"operator_overflow", "tensor_overflow", "weight_overflow", "gradient_exploding"}) {
    EXPECT_FALSE(fires(name, seen_of(fine))) << name;
    const auto fired = fires(name, seen_of(broken));
    ASSERT_TRUE(fired) << name;
    EXPECT_EQ(fired->value, 3) << name;
    EXPECT_TRUE(fired->setting.empty());
  }
}

TEST(Check, AnOpThatReadWhatIsNotFiniteIsNotToBlame) {
  const Floats broken = {1, kNan};
  Seen seen = seen_of(broken);
  seen.read_finite = false;
  EXPECT_FALSE(fires("operator_overflow", seen));
  EXPECT_TRUE(fires("tensor_overflow", seen));
}

TEST(Check, AllZero) {
  const Floats zeros = {0, -0.0f, 0, 0}, one = {0, 0, 0, 1e-30f};
  EXPECT_EQ(fires("tensor_all_zero", seen_of(zeros))->value, 100);
  EXPECT_FALSE(fires("tensor_all_zero", seen_of(one)));
  EXPECT_TRUE(fires("tensor_all_zero", seen_of(one), {{"zero_percent_from", 75}})) << "from: the threshold is inside";
  EXPECT_FALSE(fires("tensor_all_zero", seen_of(one), {{"zero_percent_from", 75.001}}));
}

// mean|x| 2, max 4, min -3, mean 0.
TEST(Check, TooLargeAndTooSmall) {
  const Floats values = {-3, -1, 4, 0, 2, -2};
  const Seen seen = seen_of(values);
  const double mean_magnitude = 2, max = 4, min = -3, mean = 0;
  const std::pair<std::string, double> statistics[] = {
      {"mean_magnitude", mean_magnitude}, {"max", max}, {"min", min}, {"mean", mean}};
  for (const auto& [name, value] : statistics) {
    for (const char* check : {"tensor_too_large", "weight_too_large", "gradient_too_large"}) {
      const std::string setting = name + "_above";
      const auto fired = fires(check, seen, {{setting, value - 1e-9}});
      ASSERT_TRUE(fired) << check << " " << name;
      EXPECT_DOUBLE_EQ(fired->value, value);
      EXPECT_EQ(fired->setting, setting);
      EXPECT_FALSE(fires(check, seen, {{setting, value}})) << check << " " << name << ": it is above, not from";
    }
    for (const char* check : {"tensor_too_small", "weight_too_small", "gradient_vanishing"}) {
      const std::string setting = name + "_below";
      const auto fired = fires(check, seen, {{setting, value + 1e-9}});
      ASSERT_TRUE(fired) << check << " " << name;
      EXPECT_DOUBLE_EQ(fired->value, value);
      EXPECT_EQ(fired->setting, setting);
      EXPECT_FALSE(fires(check, seen, {{setting, value}})) << check << " " << name;
    }
  }
}

TEST(Check, GradientVanishesBelowABillionth) {
  const Floats vanished = {9e-10f, -9e-10f}, small = {1.1e-9f, -1.1e-9f};
  EXPECT_TRUE(fires("gradient_vanishing", seen_of(vanished)));
  EXPECT_FALSE(fires("gradient_vanishing", seen_of(small)));
}

// mean|x - p| = 0.11, mean|p| = 1.
TEST(Check, RatioOfAChange) {
  const Floats before = {1, -1, 1, -1}, now = {1.22f, -1, 1.22f, -1};
  const Seen seen = moved(now, before);
  EXPECT_NEAR(seen.change.ratio(), 0.11, 1e-7);
  EXPECT_NEAR(fires("weight_change_too_large", seen)->value, 0.11, 1e-7);
  EXPECT_FALSE(fires("weight_change_too_large", seen, {{"ratio_above", 0.1101}}));
  EXPECT_FALSE(fires("weight_change_too_small", seen));
  EXPECT_TRUE(fires("weight_change_too_small", seen, {{"ratio_below", 0.1101}}));
  EXPECT_FALSE(fires("weight_change_too_small", seen, {{"ratio_below", 0.1099}}));
}

TEST(Check, AWeightThatWasZeroHasARatio) {
  const Floats before = {0, 0}, now = {1e-10f, 1e-10f};
  EXPECT_NEAR(moved(now, before).change.ratio(), 0.1, 1e-6) << "1e-10 / (0 + 1e-9)";
}

TEST(Check, Unchanged) {
  const Floats before = {1, -1000, 0}, close = {1 + 9e-6f, -1000.009f, 9e-9f};
  EXPECT_TRUE(fires("weight_unchanged", moved(close, before)));
  const Floats beyond = {1 + 1.2e-5f, -1000, 0}, zero_moved = {1, -1000, 1.1e-8f}, broken = {1, -1000, kNan};
  EXPECT_FALSE(fires("weight_unchanged", moved(beyond, before)));
  EXPECT_FALSE(fires("weight_unchanged", moved(zero_moved, before)));
  EXPECT_FALSE(fires("weight_unchanged", moved(broken, before)));
  EXPECT_FALSE(fires("weight_unchanged", moved(broken, broken))) << "a NaN is no NaN's equal";
  EXPECT_FALSE(fires("weight_unchanged", moved(close, before), {{"relative_tolerance", 5e-6}}));
}

TEST(Check, AnUnchangedWeightIsNoFaultWhereTheRateIsSmall) {
  const Floats before = {1, -1000, 0};
  Seen seen = moved(before, before);
  EXPECT_EQ(fires("weight_unchanged", seen)->comparison, "<=");
  seen.is_rate_small = true;
  EXPECT_FALSE(fires("weight_unchanged", seen));
  EXPECT_EQ(fires("weight_change_too_small", seen)->comparison, "<") << "who asks for it has it";
}

TEST(Check, NothingComparesWithoutABeforeOrBesideANan) {
  const Floats values = {0, 0}, broken = {0, kNan};
  EXPECT_FALSE(fires("weight_change_too_small", seen_of(values)));
  EXPECT_FALSE(fires("weight_unchanged", seen_of(values)));
  EXPECT_FALSE(fires("tensor_all_zero", seen_of(broken)));
  EXPECT_FALSE(fires("gradient_vanishing", seen_of(broken)));
  EXPECT_FALSE(fires("weight_change_too_large", moved(broken, values)));
  EXPECT_FALSE(fires("tensor_range", seen_of(broken), {{"percent_below", 100}}));
}

// 3 of 4 in [-1, 2], both ends inside; max - min = 4.
TEST(Check, RangeAndSpan) {
  const Floats values = {-1, 0, 2, 3};
  for (const char* check : {"tensor_range", "activation_range"}) {
    const auto in = [&](std::string_view setting, double threshold) {
      return fires(check, seen_of(values), {{"range_start", -1}, {"range_end", 2}, {setting, threshold}});
    };
    EXPECT_EQ(in("percent_below", 75.1)->value, 75);
    EXPECT_FALSE(in("percent_below", 75));
    EXPECT_TRUE(in("percent_above", 74.9));
    EXPECT_FALSE(in("percent_above", 75));
    EXPECT_EQ(in("span_below", 4.1)->value, 4);
    EXPECT_FALSE(in("span_below", 4));
    EXPECT_TRUE(in("span_above", 3.9));
    EXPECT_FALSE(in("span_above", 4));
  }
  EXPECT_TRUE(fires("tensor_range", seen_of(values), {{"range_start", 3}, {"percent_above", 24}}))
      << "without an end there is none";
}

TEST(Check, InitialWeights) {
  const Floats zeros = {0, 0}, wide = {-11, 10};
  EXPECT_TRUE(fires("weight_initial", seen_of(zeros)));
  EXPECT_FALSE(fires("weight_initial", seen_of(wide)));
  EXPECT_TRUE(fires("weight_initial", seen_of(wide), {{"max_above", 9.9}}));
  EXPECT_FALSE(fires("weight_initial", seen_of(wide), {{"max_above", 10}}));
  EXPECT_TRUE(fires("weight_initial", seen_of(wide), {{"min_below", -10.9}}));
  EXPECT_FALSE(fires("weight_initial", seen_of(wide), {{"min_below", -11}}));
}

TEST(Check, DeadUnits) {
  const Floats values = {0, 1};
  Seen seen = seen_of(values);
  seen.dead_share = 0.95;
  EXPECT_FALSE(fires("dead_relu", seen));
  seen.dead_share = 0.951;
  EXPECT_TRUE(fires("dead_relu", seen));
}

TEST(Check, LossThatDoesNotFall) {
  const auto of = [](std::optional<double> before, double now, double first) {
    return fires("loss_not_decreasing", {.loss_before = before, .loss = now, .loss_first = first});
  };
  EXPECT_FALSE(of({}, 2, 2)) << "the first window has none before it";
  EXPECT_NEAR(of(2, 1.99, 2)->value, 0.005, 1e-12);
  EXPECT_FALSE(of(2, 1.97, 2));
  EXPECT_TRUE(of(2, 2.5, 2)) << "it rises";
  EXPECT_FALSE(of(0.9, 0.9, 2)) << "below half of the first it is settled";
  EXPECT_TRUE(of(1.1, 1.1, 2));
}

TEST(Check, NormThatIsFarFromTheUsual) {
  const auto of = [](double norm, double deviation, uint64_t norms) {
    return fires("update_norm_outlier", {.norm = norm, .norm_median = 1, .norm_deviation = deviation, .norms = norms});
  };
  EXPECT_FALSE(of(1.59, 0.1, 20));
  EXPECT_NEAR(of(1.61, 0.1, 20)->value, 6.1, 1e-9);
  EXPECT_FALSE(of(9, 0.1, 7)) << "seven norms say nothing";
  EXPECT_FALSE(of(1.05, 0, 20)) << "a deviation of 1 % of the median at least";
  EXPECT_TRUE(of(1.07, 0, 20));
}

TEST(Check, LabelsThatDrift) {
  EXPECT_FALSE(fires("label_drift", {.label_distance = 0.3}));
  EXPECT_TRUE(fires("label_drift", {.label_distance = 0.301}));
}

// A float32 tanh that is +-1 has no slope left: MindInsight's ends are where that begins.
TEST(Check, RecommendedRangesAreThoseOfASaturatedFunction) {
  for (const WatchedCheck& watched : recommended_watch().checks) {
    if (watched.check->name != std::string_view("activation_range")) continue;
    const bool is_tanh = watched.op == "tanh";
    const Floats saturated(2000, is_tanh ? -1 : 1), healthy(2000, 0.3f);
    EXPECT_TRUE(watched.check->judge(watched.values, seen_of(saturated))) << watched.op;
    EXPECT_FALSE(watched.check->judge(watched.values, seen_of(healthy))) << watched.op;
    Floats few = saturated;
    few[0] = few[1] = 0.5f;  // 0.1 %
    EXPECT_FALSE(watched.check->judge(watched.values, seen_of(few))) << watched.op;
  }
}

TEST(Check, NamesAreTheirOwnAndStandardsAreInRange) {
  for (const Check& check : all_checks()) {
    EXPECT_EQ(find_check(check.name), &check);
    for (const CheckSetting& setting : check.settings) {
      EXPECT_EQ(&check.settings[setting_index(check, setting.name)], &setting) << check.name;
      EXPECT_GE(setting.standard.value_or(setting.min), setting.min);
      EXPECT_LE(setting.standard.value_or(setting.max), setting.max);
    }
  }
  EXPECT_EQ(find_check("weight_change"), nullptr);
}

}  // namespace
}  // namespace coterie::test
