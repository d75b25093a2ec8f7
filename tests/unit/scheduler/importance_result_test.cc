// What tables of devices that permute columns say, against what is known of the devices.
#include "scheduler/job/importance_result.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/random.h"
#include "proto/messages/evaluation_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/evaluation_result.h"
#include "scheduler/job/horizontal_settings.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint32_t kValues = 64, kRepeats = 2;

AnalyticsSettings permuting(size_t columns) {
  AnalyticsSettings analytics;
  analytics.rules = {.kind = AnalyticsKind::evaluation,
                     .input_values = 4,
                     .values_max = kValues,
                     .lane_max = evaluation_lane_max(kValues),
                     .evaluation = EvaluationRules{.models = {{Digest{{1}}, 9}}, .importance = ImportanceRules{}}};
  analytics.classes = {"no", "yes"};
  analytics.rules.evaluation->importance->repeats = kRepeats;
  for (uint32_t column = 0; column < columns; ++column) {
    analytics.rules.evaluation->importance->columns.push_back({column, 1});
    analytics.permuted.push_back("column " + std::to_string(column));
  }
  return analytics;
}

// Devices whose rises differ: the mean of one column is 0, of the other 0.05; of 500 draws of 40 devices intervals hold
// in 95 of 100.
TEST(ImportanceResult, IntervalsHoldAsOftenAsTheySay) {
  const AnalyticsSettings analytics = permuting(2);
  const EvaluationLayout layout(rules_of(analytics));
  Prng prng(9);
  int held[2] = {}, above[2] = {};
  constexpr int kDraws = 500;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<float> table(layout.lanes());
    for (int device = 0; device < 40; ++device) {
      const uint64_t n = 8 + prng.below(kValues - 7);
      std::vector<float> lanes(layout.lanes());
      put_moments(layout, 0, 0, {n, 0, 0}, lanes);
      for (size_t column = 0; column < 2; ++column) {
        const double rise = (column == 0 ? 0 : 0.05) + 0.1 * prng.normal();
        const double sum = rise * static_cast<double>(n) * kRepeats * kLossUnits;
        put_rises(layout, column, n, {.loss = std::llround(sum), .errors = 0}, lanes);
      }
      std::ranges::transform(lanes, table, table.begin(), std::plus());
    }
    const std::vector<ColumnImportance> found = importance_of(analytics, layout, table);
    for (size_t column = 0; column < 2; ++column) {
      const RatioEstimate& loss = *found[column].loss_rise;
      const double mean = column == 0 ? 0 : 0.05;
      held[column] += *loss.low <= mean && mean <= *loss.high;
      above[column] += *loss.low > 0;
    }
  }
  for (const int of_column : held) {
    EXPECT_GE(of_column, 0.92 * kDraws);
    EXPECT_LE(of_column, 0.98 * kDraws);
  }
  EXPECT_LT(above[0], 0.05 * kDraws) << "a column that says nothing";
  EXPECT_GT(above[1], 0.5 * kDraws);
}

TEST(ImportanceResult, HasNothingToSayWithoutExamples) {
  const AnalyticsSettings analytics = permuting(2);
  const EvaluationLayout layout(rules_of(analytics));
  const std::vector<ColumnImportance> found = importance_of(analytics, layout, std::vector<float>(layout.lanes()));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "column 0");
  EXPECT_FALSE(found[0].loss_rise);
  EXPECT_FALSE(found[0].error_rise);
}

TEST(ImportanceResult, OfAJobIsLimitedByName) {
  const auto problems_with = [](const std::function<void(HorizontalSettings&)>& change) {
    HorizontalSettings settings;
    settings.analytics = permuting(3);
    set_defaults(*settings.analytics, settings);
    settings.privacy.level = SecurityLevel::none;
    change(settings);
    return validate(settings);
  };
  EXPECT_THAT(problems_with([](auto&) {}), IsEmpty());
  const auto is_at = [](const char* pointer, const char* words) {
    return Contains(AllOf(Field(&Problem::pointer, pointer), Field(&Problem::detail, HasSubstr(words))));
  };
  EXPECT_THAT(problems_with([](auto& s) { s.analytics->permuted[1] = std::string(129, 'x'); }),
              is_at("/analytics/importance/columns", "at most 128 bytes"));
  EXPECT_THAT(problems_with([](auto& s) { s.analytics->rules.evaluation->importance->repeats = 0; }),
              is_at("/analytics/importance/repeats", "in [1, 32]"));
  EXPECT_THAT(problems_with([](auto& s) { s.privacy.noise_multiplier = 1; }),
              is_at("/analytics", "do not go with privacy.noise_multiplier"));
}

}  // namespace
}  // namespace coterie
