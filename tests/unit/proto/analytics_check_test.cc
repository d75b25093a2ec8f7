// A server that sees single tables takes those that examples can give, and no others.
#include "proto/messages/analytics_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/evaluation_lanes.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

constexpr uint32_t kClasses = 3, kBins = 4, kGroups = 2, kMost = 80;

AnalyticsRules judging(size_t models) {
  AnalyticsRules rules{.kind = AnalyticsKind::evaluation,
                       .input_values = 7,
                       .categories = kGroups,
                       .values_max = kMost,
                       .lane_max = evaluation_lane_max(kMost),
                       .evaluation = EvaluationRules{.models = {}, .classes = kClasses, .score_bins = kBins}};
  for (size_t i = 0; i < models; ++i) rules.evaluation->models.push_back({Digest{{static_cast<uint8_t>(i + 1)}}, 9});
  if (models == 2) rules.evaluation->harm_max = 0.5f;
  return rules;
}

// One model, two of whose columns are permuted.
AnalyticsRules permuting() {
  AnalyticsRules rules = judging(1);
  rules.evaluation->importance = ImportanceRules{.columns = {{0, 1}, {2, 4}}, .repeats = 3};
  return rules;
}

// What a device may find of a column, of so many examples and so many of them right.
RiseSums drawn_rises(const ImportanceLayout& layout, uint64_t examples, uint64_t correct, Prng& prng) {
  const uint64_t most = examples * layout.loss_offset(), errors = examples * layout.errors_offset();
  return {.loss = static_cast<int64_t>(prng.below(2 * most + 1)) - static_cast<int64_t>(most),
          .errors = static_cast<int64_t>(prng.below(errors + 1)) -
                    static_cast<int64_t>((examples - correct) * layout.errors_offset())};
}

// The table of a device with so many examples, about which its models say anything.
std::vector<float> table_of(const AnalyticsRules& rules, uint64_t examples, Prng& prng) {
  const EvaluationLayout layout(rules);
  std::vector<float> lanes(layout.lanes());
  std::vector<std::pair<uint32_t, uint32_t>> drawn;  // class and group
  for (uint64_t i = 0; i < examples; ++i) {
    drawn.emplace_back(static_cast<uint32_t>(prng.below(kClasses)), static_cast<uint32_t>(prng.below(kGroups + 1)));
  }
  std::vector<double> right;
  for (size_t model = 0; model < layout.models(); ++model) {
    std::vector<ScoredExamples> scored(layout.groups());
    for (const auto& [label, group] : drawn) {
      const auto predicted = static_cast<uint32_t>(prng.below(kClasses + 1));
      const uint64_t loss = prng.below(kLossMax * kLossUnits + 1);
      ++lanes[layout.confusion(model, label, predicted)];
      for (uint32_t c = 0; c < kClasses; ++c) {
        ++lanes[layout.score(model, c, c == label, static_cast<uint32_t>(prng.below(kBins)))];
      }
      for (ScoredExamples* const block : {&scored[0], &scored[1 + group]}) {
        *block = {block->examples + 1, block->correct + (predicted == label ? 1 : 0), block->loss + loss};
      }
    }
    for (size_t group = 0; group < scored.size(); ++group) put_moments(layout, model, group, scored[group], lanes);
    right.push_back(static_cast<double>(scored[0].correct));
    if (examples > 0) lanes[layout.accuracy(model, accuracy_bin(examples, scored[0].correct))] = layout.device_unit();
  }
  for (size_t column = 0; column < layout.importance().columns(); ++column) {
    const RiseSums rises = drawn_rises(layout.importance(), examples, static_cast<uint64_t>(right[0]), prng);
    put_rises(layout, column, examples, rises, lanes);
  }
  if (layout.models() < 2 || examples == 0) return lanes;
  const double share = std::clamp((right[0] - right[1]) / static_cast<double>(examples) / 0.5, -1.0, 1.0);
  lanes[layout.difference(static_cast<int32_t>(std::floor(share * kDifferenceSteps)))] = layout.device_unit();
  return lanes;
}

TEST(AnalyticsCheck, TakesWhatExamplesGive) {
  Prng prng(1);
  for (const AnalyticsRules& rules : {judging(1), judging(2), permuting()}) {
    for (int device = 0; device < 100; ++device) {
      const uint64_t examples = device == 0 ? 0 : device == 1 ? kMost : prng.below(kMost + 1);
      EXPECT_OK(check_lanes(rules, table_of(rules, examples, prng))) << examples;
    }
  }
}

// Whatever lane of a table is changed alone, no examples give it.
TEST(AnalyticsCheck, RefusesATableWithOneLaneThatIsAnother) {
  Prng prng(2);
  for (const AnalyticsRules& rules : {judging(2), permuting()}) {
    const EvaluationLayout layout(rules);
    for (const uint64_t examples : {uint64_t{0}, uint64_t{13}, uint64_t{kMost}}) {
      const std::vector<float> honest = table_of(rules, examples, prng);
      for (size_t lane = 0; lane < honest.size(); ++lane) {
        for (const float change : {1.0f, -1.0f, 0.5f, layout.digit_unit(), layout.device_unit(), -layout.device_unit(),
                                   std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
          std::vector<float> lanes = honest;
          lanes[lane] += change;
          ASSERT_ERROR(check_lanes(rules, lanes), ErrorCode::malformed, "no examples give") << lane << " " << change;
        }
      }
    }
  }
}

// No order of the examples makes more of them wrong than the model has right, nor more right than it has wrong.
TEST(AnalyticsCheck, RefusesRisesThatNoOrderGives) {
  Prng prng(5);
  const AnalyticsRules rules = permuting();
  const EvaluationLayout layout(rules);
  std::vector<float> lanes = table_of(rules, 20, prng);
  const auto correct = static_cast<int64_t>(moment_in(layout, 0, 0, Moment::y, lanes));
  const auto with = [&](const RiseSums& rises) {
    put_rises(layout, 1, 20, rises, lanes);
    return check_lanes(rules, lanes);
  };
  constexpr int64_t kLoss = 3 * 20 * int64_t{kLossMax} * kLossUnits;
  EXPECT_OK(with({.loss = kLoss, .errors = 3 * correct}));
  EXPECT_OK(with({.loss = -kLoss, .errors = -3 * (20 - correct)}));
  EXPECT_ERROR(with({.loss = kLoss + 1, .errors = 0}), ErrorCode::malformed, "a rise of the loss");
  EXPECT_ERROR(with({.loss = 0, .errors = 3 * correct + 1}), ErrorCode::malformed, "a rise of errors");
  EXPECT_ERROR(with({.loss = 0, .errors = -3 * (20 - correct) - 1}), ErrorCode::malformed, "a rise of errors");
}

TEST(AnalyticsCheck, RefusesTwoDevicesInOneTableAndMoreExamplesThanCount) {
  Prng prng(3);
  const AnalyticsRules rules = judging(2);
  std::vector<float> lanes = table_of(rules, 20, prng);
  const std::vector<float> another = table_of(rules, 20, prng);
  for (size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane] += another[lane];
  EXPECT_ERROR(check_lanes(rules, lanes), ErrorCode::malformed, "no examples give");
  EXPECT_ERROR(check_lanes(rules, table_of(rules, kMost + 1, prng)), ErrorCode::malformed, "no examples give");
}

TEST(AnalyticsCheck, OfCountsAreWholeNumbersOfSoManyExamples) {
  const AnalyticsRules rules{.input_values = 1, .edges = {1, 2}, .values_max = 5, .lane_max = 3};
  EXPECT_OK(check_lanes(rules, std::vector<float>{3, 2, 0, 0}));
  EXPECT_OK(check_lanes(rules, std::vector<float>(4)));
  EXPECT_ERROR(check_lanes(rules, std::vector<float>{3, 3, 0, 0}), ErrorCode::malformed, "counts of 6 examples");
  EXPECT_ERROR(check_lanes(rules, std::vector<float>{4, 0, 0, 0}), ErrorCode::malformed, "a count of 4");
  EXPECT_ERROR(check_lanes(rules, std::vector<float>{-1, 1, 0, 0}), ErrorCode::malformed, "a count of -1");
  EXPECT_ERROR(check_lanes(rules, std::vector<float>{0.5f, 0, 0, 0}), ErrorCode::malformed, "a count of 0.5");
  EXPECT_ERROR(check_lanes(rules, std::vector<float>{NAN, 0, 0, 0}), ErrorCode::malformed, "a count of");
}

}  // namespace
}  // namespace coterie
