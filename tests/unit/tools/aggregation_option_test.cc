#include "tools/demo/aggregation_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

DemoOptions options_with(const char* aggregation) {
  DemoOptions options;
  options.security = SecurityLevel::none;
  options.aggregation = parse_aggregation(aggregation).value();
  return options;
}

TEST(AggregationOption, IsARuleAndItsSettings) {
  EXPECT_EQ(parse_aggregation("mean").value(), AggregationSettings());
  EXPECT_EQ(parse_aggregation("median").value(), AggregationSettings::of("median"));
  EXPECT_EQ(parse_aggregation("geometric_median:iterations=7,smoothing=0.5").value(),
            AggregationSettings::of("geometric_median").with("iterations", 7).with("smoothing", 0.5f));
  for (const char* text : {"", "average", "mean:liars_max=1", "median:liars_max=1", "krum:liars_max",
                           "krum:liars_max=", "krum:liars_max=0.5", "krum:liars_max=1,", "krum:"}) {
    EXPECT_ERROR(parse_aggregation(text), ErrorCode::invalid_argument, "") << text;
  }
}

TEST(AggregationOption, IsRefusedWhereTheServerWould) {
  EXPECT_OK(check_aggregation(DemoOptions()));
  EXPECT_OK(check_aggregation(options_with("bulyan")));
  DemoOptions options = options_with("median");
  options.security = SecurityLevel::active;
  EXPECT_ERROR(check_aggregation(options), ErrorCode::invalid_argument,
               "needs 3 of them (3); a round of 10 devices has 1: give --cohort-max");
  options.cohort_max = 4;
  EXPECT_OK(check_aggregation(options));
  options.cohort_max = 5;
  EXPECT_ERROR(check_aggregation(options), ErrorCode::invalid_argument, "has 2: give --cohort-max");
  options.dropout = 0.1;  // the server asks for more devices, who make a third cohort
  EXPECT_OK(check_aggregation(options));
  EXPECT_ERROR(check_aggregation(options_with("bulyan:liars_max=2")), ErrorCode::invalid_argument,
               "needs 11 updates a round (4 liars_max + 3), and a round has 10");
  options = options_with("median");
  options.noise_multiplier = 1;
  EXPECT_ERROR(check_aggregation(options), ErrorCode::invalid_argument, "does not go with noise");
}

TEST(AggregationOption, AnAttackIsForRoundsWhoseUpdatesAreSeen) {
  DemoOptions options;
  options.attack = {AttackKind::sign_flip, 0.2};
  EXPECT_ERROR(check_aggregation(options), ErrorCode::invalid_argument, "--security none");
  options.security = SecurityLevel::none;
  EXPECT_OK(check_aggregation(options));
  options.attack.share = 0.01;
  EXPECT_ERROR(check_aggregation(options), ErrorCode::invalid_argument, "of 20 devices is none");
}

TEST(AggregationOption, SaysWhereSkewCostsMoreThanTheRuleSaves) {
  EXPECT_THAT(skew_warning(options_with("median")), HasSubstr("dirichlet:0.3")) << "the demo's own split";
  EXPECT_THAT(skew_warning(options_with("geometric_median")), IsEmpty());
  EXPECT_THAT(skew_warning(options_with("mean")), IsEmpty());
  DemoOptions options = options_with("median");
  options.split = {SplitKind::dirichlet, 1};
  EXPECT_THAT(skew_warning(options), IsEmpty());
}

}  // namespace
}  // namespace coterie
