// What a plan with importance says, where in the table a device's rises are, and what older devices make of it.
#include <cmath>
#include <functional>
#include <set>

#include "base/random.h"
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/evaluation_lanes.h"
#include "proto/messages/importance_lanes.h"
#include "tests/support/matchers.h"
#include "tests/unit/proto/analytics_plan.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

AnalyticsRules permuting(uint32_t values_max = 200, uint32_t repeats = 3) {
  return {.kind = AnalyticsKind::evaluation,
          .input_values = 7,
          .feature = 2,
          .categories = 3,
          .values_max = values_max,
          .lane_max = evaluation_lane_max(values_max),
          .evaluation = EvaluationRules{.models = {{Digest{{1}}, 99}},
                                        .classes = 4,
                                        .score_bins = 8,
                                        .importance = ImportanceRules{{{0, 1}, {2, 3}, {1, 6}}, repeats}}};
}

TEST(PlanImportance, ComesBackAsItWas) {
  const Plan plan = test::plan_with(permuting());
  ASSERT_OK(validate(plan));
  const Result<Plan> read = decode_plan(encode(plan));
  ASSERT_OK(read);
  EXPECT_EQ(*read, plan);
}

TEST(PlanImportance, LimitsEachNumberByName) {
  const auto expect = [](std::string_view words, auto change) {
    AnalyticsRules rules = permuting();
    change(rules, *rules.evaluation->importance);
    rules.lane_max = evaluation_lane_max(rules.values_max);
    EXPECT_ERROR(validate(rules), ErrorCode::invalid_argument, words);
  };
  expect("importance/columns must be 1 to 256", [](auto&, auto& i) { i.columns.clear(); });
  expect("importance/columns must be 1 to 256", [](auto&, auto& i) { i.columns.resize(kImportanceColumnsMax + 1); });
  expect("within the 7 of an example", [](auto&, auto& i) { i.columns[0] = {7, 1}; });
  expect("within the 7 of an example", [](auto&, auto& i) { i.columns[0] = {5, 3}; });
  expect("within the 7 of an example", [](auto&, auto& i) { i.columns[0] = {1, 0}; });
  expect("within the 7 of an example", [](auto&, auto& i) { i.columns[0] = {UINT32_MAX, UINT32_MAX}; });
  expect("importance/repeats must be in [1, 32]", [](auto&, auto& i) { i.repeats = 0; });
  expect("importance/repeats must be in [1, 32]", [](auto&, auto& i) { i.repeats = UINT32_MAX; });
  expect("values_max * repeats at most 262144", [](auto& r, auto& i) { r.values_max = 1u << 16, i.repeats = 5; });
  expect("answers of the model", [](auto& r, auto& i) {
    r.values_max = 1u << 13;
    i.repeats = 32;
    i.columns.assign(16, {0, 1});
  });
  expect("which a device holds in memory", [](auto& r, auto&) { r.input_values = 1u << 24; });
  expect("it is of one model", [](auto& r, auto&) { r.evaluation->models.push_back({Digest{{2}}, 9}); });
}

// The largest of all that is allowed still has squares of 64 bits.
TEST(PlanImportance, TheLargestHasRoomForItsSquares) {
  AnalyticsRules rules = permuting(1u << 13, kImportanceRepeatsMax);
  rules.evaluation->importance->columns.assign(15, {0, 1});
  ASSERT_OK(validate(rules));
  const EvaluationLayout layout(rules);
  std::vector<float> lanes(layout.lanes());
  const uint64_t n = rules.values_max;
  const auto most = static_cast<int64_t>(n * kImportanceRepeatsMax);
  const int64_t loss = most * kLossMax * kLossUnits;
  put_moments(layout, 0, 0, {n, n, 0}, lanes);
  for (const int sign : {1, -1}) {
    put_rises(layout, 14, n, {sign * loss, sign * most}, lanes);
    const RiseMoments l = loss_rises_in(layout, 14, lanes), e = error_rises_in(layout, 14, lanes);
    const auto exact = static_cast<double>(loss), errors = static_cast<double>(most);
    EXPECT_EQ(l.y, sign * exact);
    EXPECT_EQ(l.ny, sign * exact * static_cast<double>(n));
    EXPECT_EQ(l.yy, exact * exact);
    EXPECT_EQ(e.y, sign * errors);
    EXPECT_EQ(e.yy, errors * errors);
  }
}

TEST(ImportanceLayout, NamesEachLaneBehindTheEvaluationOnce) {
  const EvaluationLayout layout(permuting());
  AnalyticsRules plain = permuting();
  plain.evaluation->importance.reset();
  const uint64_t first = EvaluationLayout(plain).lanes();
  std::multiset<uint64_t> named;
  for (size_t column = 0; column < 3; ++column) {
    for (size_t i = 0; i < kRiseMoments; ++i) {
      const DigitRange at = layout.rises(column, static_cast<RiseMoment>(i));
      for (uint32_t digit = 0; digit < at.count; ++digit) named.insert(at.first + digit);
    }
  }
  EXPECT_EQ(*named.begin(), first);
  EXPECT_EQ(*named.rbegin(), layout.lanes() - 1);
  EXPECT_EQ(named.size(), layout.lanes() - first);
  EXPECT_EQ(std::set<uint64_t>(named.begin(), named.end()).size(), named.size());
}

// A device's lanes are within the norm that accountants and clips go by, and sums of devices have the devices' moments.
TEST(ImportanceLayout, SumsOfLanesAreSumsOfRises) {
  for (const uint32_t values_max : {1u, 64u, 256u, 4096u}) {
    const AnalyticsRules rules = permuting(values_max, 7);
    const EvaluationLayout layout(rules);
    std::vector<float> table(layout.lanes());
    RiseMoments loss, errors;
    Prng prng(values_max);
    for (int device = 0; device < 40; ++device) {
      const uint64_t n = prng.below(values_max + 1);
      const auto draw = [&](uint64_t most) {
        return static_cast<int64_t>(prng.below(2 * most + 1)) - static_cast<int64_t>(most);
      };
      const RiseSums rises{draw(n * 7 * kLossMax * kLossUnits), draw(n * 7)};
      std::vector<float> lanes(layout.lanes());
      put_moments(layout, 0, 0, {n, 0, 0}, lanes);
      put_rises(layout, 1, n, rises, lanes);
      double squares = 0;
      for (size_t i = 0; i < lanes.size(); ++i) {
        EXPECT_LE(lanes[i], static_cast<float>(rules.lane_max));
        squares += static_cast<double>(lanes[i]) * static_cast<double>(lanes[i]);
        table[i] += lanes[i];
      }
      EXPECT_LE(squares, std::pow(l2_sensitivity(rules), 2));
      const auto add = [n](RiseMoments& to, int64_t rise) {
        const auto y = static_cast<double>(rise);
        to = {to.y + y, to.ny + static_cast<double>(n) * y, to.yy + y * y};
      };
      add(loss, rises.loss);
      add(errors, rises.errors);
    }
    for (const auto& [found, exact] :
         {std::pair(loss_rises_in(layout, 1, table), loss), std::pair(error_rises_in(layout, 1, table), errors)}) {
      EXPECT_EQ(found.y, exact.y);
      EXPECT_EQ(found.ny, exact.ny);
      EXPECT_NEAR(found.yy, exact.yy, 1e-9 * exact.yy);
    }
  }
}

// A device of before knows no such table: it sees an evaluation without a model, and refuses.
TEST(PlanImportance, HasNoEvaluationForADeviceThatDoesNotKnowIt) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(flat::build(builder, permuting()));
  const auto* table = flatbuffers::GetRoot<wire::Analytics>(builder.GetBufferPointer());
  EXPECT_EQ(table->evaluation(), nullptr);
  ASSERT_NE(table->importance(), nullptr);
  EXPECT_NE(table->importance()->evaluation(), nullptr);
}

// What only a hostile server writes.
TEST(PlanImportance, RefusesTablesThatAreNotOfOneForm) {
  const auto parsed = [](const std::function<flatbuffers::Offset<wire::Importance>(
                             flatbuffers::FlatBufferBuilder&, flatbuffers::Offset<wire::Evaluation>)>& make,
                         bool has_evaluation) {
    flatbuffers::FlatBufferBuilder builder;
    const auto evaluation = wire::CreateEvaluation(builder, 0, 2);
    const auto importance = make(builder, evaluation);
    wire::AnalyticsBuilder analytics(builder);
    analytics.add_kind(3);
    if (has_evaluation) analytics.add_evaluation(evaluation);
    analytics.add_importance(importance);
    builder.Finish(analytics.Finish());
    return flat::parse(*flatbuffers::GetRoot<wire::Analytics>(builder.GetBufferPointer()));
  };
  EXPECT_ERROR(parsed([](auto& b, auto e) { return wire::CreateImportance(b, e); }, true), ErrorCode::malformed,
               "must not be beside an evaluation");
  EXPECT_ERROR(parsed([](auto& b, auto) { return wire::CreateImportance(b); }, false), ErrorCode::malformed,
               "must have an evaluation");
  const auto many = [](auto& b, auto e) {
    const std::vector<wire::PermutedColumn> columns(kImportanceColumnsMax + 1);
    return wire::CreateImportance(b, e, b.CreateVectorOfStructs(columns), 5);
  };
  EXPECT_ERROR(parsed(many, false), ErrorCode::malformed, "too many columns");
}

}  // namespace
}  // namespace coterie
