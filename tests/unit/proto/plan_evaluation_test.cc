// What a plan that evaluates models says, and where in the table a device's answers are.
#include <cmath>
#include <functional>
#include <set>

#include "base/random.h"
#include "proto/codec/codec.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/evaluation_lanes.h"
#include "tests/support/matchers.h"
#include "tests/unit/proto/analytics_plan.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

AnalyticsRules evaluating(uint32_t values_max = 200, size_t models = 2) {
  AnalyticsRules rules{.kind = AnalyticsKind::evaluation,
                       .input_values = 7,
                       .feature = 2,
                       .categories = 3,
                       .values_max = values_max,
                       .lane_max = evaluation_lane_max(values_max),
                       .evaluation = EvaluationRules{.models = {}, .classes = 4, .score_bins = 8, .harm_max = 1}};
  for (size_t i = 0; i < models; ++i) rules.evaluation->models.push_back({Digest{{static_cast<uint8_t>(i + 1)}}, 99});
  return rules;
}

TEST(PlanEvaluation, ComesBackAsItWas) {
  for (const size_t models : {1, 2}) {
    AnalyticsRules rules = evaluating(200, models);
    if (models == 2) rules.evaluation->harm_max = 0.25f;
    const Plan plan = test::plan_with(rules);
    ASSERT_OK(validate(plan));
    const Result<Plan> read = decode_plan(encode(plan));
    ASSERT_OK(read);
    EXPECT_EQ(*read, plan);
  }
}

TEST(PlanEvaluation, LimitsEachNumberByName) {
  const auto expect = [](std::string_view words, auto change) {
    AnalyticsRules rules = evaluating();
    change(rules);
    EXPECT_ERROR(validate(rules), ErrorCode::invalid_argument, words);
  };
  expect("model must name", [](auto& r) { r.evaluation.reset(); });
  expect("model must name", [](auto& r) { r.evaluation->models.clear(); });
  expect("model must name", [](auto& r) { r.evaluation->models.resize(3); });
  expect("model_bytes", [](auto& r) { r.evaluation->models[1].bytes = kEvaluatedModelBytesMax + 1; });
  expect("classes", [](auto& r) { r.evaluation->classes = 1; });
  expect("classes", [](auto& r) { r.evaluation->classes = kEvaluatedClassesMax + 1; });
  expect("score_bins", [](auto& r) { r.evaluation->score_bins = 1; });
  expect("score_bins", [](auto& r) { r.evaluation->score_bins = kScoreBinsMax + 1; });
  expect("harm_max", [](auto& r) { r.evaluation->harm_max = 0; });
  expect("harm_max", [](auto& r) { r.evaluation->harm_max = NAN; });
  expect("harm_max", [](auto& r) { r.evaluation->models.pop_back(), r.evaluation->harm_max = 0.5f; });
  expect("source", [](auto& r) { r.source = AnalyticsSource::label, r.feature = 0; });
  expect("categories", [](auto& r) { r.input_values = 1000, r.categories = kEvaluationGroupsMax + 1; });
  expect("feature", [](auto& r) { r.categories = 0; });
  expect("missing_feature", [](auto& r) { r.categories = 0, r.feature = 0, r.missing_feature = 1; });
  expect("lane_max", [](auto& r) { r.lane_max = r.values_max + 1; });
  expect("edges", [](auto& r) { r.edges = {1, 2}; });
  expect("buckets", [](auto& r) { r.buckets = 64; });
  expect("values_max", [](auto& r) { r.values_max = r.lane_max = kAnalyticsValuesMax + 1; });
  AnalyticsRules counting{.input_values = 7, .edges = {1, 2}};
  counting.evaluation.emplace();
  EXPECT_ERROR(validate(counting), ErrorCode::invalid_argument, "model must be absent");
}

// Every lane of the table is of one thing, and every thing has its lanes.
TEST(EvaluationLayout, NamesEachLaneOnce) {
  for (const uint32_t classes : {2u, 4u}) {
    for (const uint32_t bins : {0u, 8u}) {
      AnalyticsRules rules = evaluating();
      rules.evaluation->classes = classes;
      rules.evaluation->score_bins = bins;
      const EvaluationLayout layout(rules);
      std::multiset<uint64_t> named;
      for (size_t m = 0; m < 2; ++m) {
        for (size_t g = 0; g < layout.groups(); ++g) {
          named.insert(layout.devices(m, g));
          for (size_t i = 0; i < kMoments; ++i) {
            const auto moment = static_cast<Moment>(i);
            for (uint32_t d = 0; d < layout.digit_count(moment); ++d) named.insert(layout.digits(m, g, moment) + d);
          }
        }
        for (uint32_t c = 0; c < classes; ++c) {
          for (uint32_t p = 0; p <= classes; ++p) named.insert(layout.confusion(m, c, p));
        }
        for (size_t s = 0; s < layout.scored_classes(); ++s) {
          for (uint32_t b = 0; b < bins; ++b) named.insert({layout.score(m, s, true, b), layout.score(m, s, false, b)});
        }
        for (uint32_t b = 0; b < kAccuracyBins; ++b) named.insert(layout.accuracy(m, b));
      }
      for (int32_t step = -kDifferenceSteps; step <= kDifferenceSteps; ++step) named.insert(layout.difference(step));
      EXPECT_EQ(named.size(), layout.lanes());
      EXPECT_EQ(*named.rbegin(), layout.lanes() - 1);
      EXPECT_EQ(std::set<uint64_t>(named.begin(), named.end()).size(), named.size());
    }
  }
}

// Up to the largest squares: sums of devices' digits are the sums of their numbers.
TEST(EvaluationLayout, SumsOfDigitsAreSumsOfNumbers) {
  for (const uint32_t values_max : {1u, 50u, 63u, 64u, 256u, kAnalyticsValuesMax}) {
    const EvaluationLayout layout(evaluating(values_max));
    std::vector<float> table(layout.lanes());
    double n = 0, ny = 0, ll = 0;
    Prng prng(values_max);
    for (int device = 0; device < 50; ++device) {
      const uint64_t examples = device == 0 ? values_max : prng.below(values_max + 1);
      const uint64_t correct = device == 0 ? examples : prng.below(examples + 1);
      const uint64_t loss = device == 0 ? examples * kLossMax * kLossUnits : prng.below(examples * 1000 + 1);
      std::vector<float> lanes(layout.lanes());
      put_moments(layout, 1, 2, {examples, correct, loss}, lanes);
      for (size_t i = 0; i < lanes.size(); ++i) {
        EXPECT_LE(lanes[i], static_cast<float>(evaluation_lane_max(values_max)));
        table[i] += lanes[i];
      }
      n += static_cast<double>(examples);
      ny += static_cast<double>(examples) * static_cast<double>(correct);
      ll += static_cast<double>(loss) * static_cast<double>(loss);
    }
    EXPECT_EQ(moment_in(layout, 1, 2, Moment::n, table), n);
    EXPECT_EQ(moment_in(layout, 1, 2, Moment::ny, table), ny);
    EXPECT_NEAR(moment_in(layout, 1, 2, Moment::ll, table), ll, 1e-12 * ll);
    EXPECT_EQ(moment_in(layout, 0, 0, Moment::n, table), 0);
  }
}

// Whatever a device's examples are, its clip scales nothing.
TEST(EvaluationLayout, NoDeviceIsLongerThanItsClip) {
  const AnalyticsRules rules = evaluating(100);
  const EvaluationLayout layout(rules);
  Prng prng(1);
  for (int device = 0; device < 200; ++device) {
    std::vector<float> lanes(layout.lanes());
    for (size_t m = 0; m < 2; ++m) {
      const bool same = prng.chance(0.3);  // all examples in one lane: the longest
      for (uint64_t i = 0; i < 100; ++i) {
        const auto pick = [&](uint64_t bound) { return same ? 0 : static_cast<uint32_t>(prng.below(bound)); };
        lanes[layout.confusion(m, pick(4), pick(5))] += 1;
        for (size_t s = 0; s < 4; ++s) lanes[layout.score(m, s, pick(2) == 1, pick(8))] += 1;
      }
      const uint64_t correct = prng.below(101), loss = prng.below(100 * kLossMax * kLossUnits + 1);
      for (size_t g = 0; g < layout.groups(); ++g) put_moments(layout, m, g, {100, correct, loss}, lanes);
      lanes[layout.accuracy(m, accuracy_bin(100, correct))] = layout.device_unit();
    }
    lanes[layout.difference(3)] = layout.device_unit();
    double squares = 0;
    for (const float lane : lanes) squares += static_cast<double>(lane) * static_cast<double>(lane);
    EXPECT_LE(std::sqrt(squares), clip_of(rules));
  }
}

TEST(EvaluationLayout, PutsADeviceIntoTheBinOfItsAccuracy) {
  EXPECT_EQ(accuracy_bin(7, 0), 0u);
  EXPECT_EQ(accuracy_bin(20, 1), 1u);
  EXPECT_EQ(accuracy_bin(21, 1), 0u);
  EXPECT_EQ(accuracy_bin(7, 7), kAccuracyBins - 1);
}

}  // namespace
}  // namespace coterie
