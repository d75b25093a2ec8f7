// What a plan that asks for activation ranges says, in which bin a value is, and how far one device moves a table.
#include <cmath>
#include <functional>
#include <limits>

#include "base/random.h"
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/messages/analytics_check.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/evaluation_lanes.h"
#include "proto/messages/range_lanes.h"
#include "tests/support/matchers.h"
#include "tests/unit/proto/analytics_plan.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

AnalyticsRules ranging(bool is_normalised = true) {
  AnalyticsRules rules{.kind = AnalyticsKind::activation_ranges, .input_values = 7, .values_max = 20};
  rules.evaluation = EvaluationRules{.models = {{Digest{{1}}, 99}}};
  rules.evaluation->ranges = RangeRules{.tensors = {"input", "relu1"},
                                        .exponent_low = -3,
                                        .exponent_high = 2,
                                        .steps = 2,
                                        .positions = 10,
                                        .is_normalised = is_normalised};
  rules.lane_max = range_lane_max(*rules.evaluation->ranges, rules.values_max);
  return rules;
}

TEST(PlanRanges, ComesBackAsItWas) {
  for (const bool is_normalised : {true, false}) {
    const Plan plan = test::plan_with(ranging(is_normalised));
    ASSERT_OK(validate(plan));
    const Result<Plan> read = decode_plan(encode(plan));
    ASSERT_OK(read);
    EXPECT_EQ(*read, plan);
  }
}

// Whatever a hostile server asks for: each number has its limit before anything is allocated by it.
TEST(PlanRanges, LimitsEachNumberByName) {
  const auto expect = [](std::string_view words, auto change) {
    AnalyticsRules rules = ranging();
    change(rules, *rules.evaluation->ranges);
    EXPECT_ERROR(validate(rules), ErrorCode::invalid_argument, words);
  };
  expect("tensors must be 1 to 256 names", [](auto&, auto& r) { r.tensors.clear(); });
  expect("tensors must be 1 to 256 names", [](auto&, auto& r) { r.tensors.resize(kRangeTensorsMax + 1, "x"); });
  expect("tensors must be names of 1 to 128 bytes", [](auto&, auto& r) { r.tensors[1] = ""; });
  expect("tensors must be names of 1 to 128 bytes", [](auto&, auto& r) { r.tensors[1] = std::string(129, 'a'); });
  expect("tensors must be names of 1 to 128 bytes", [](auto&, auto& r) { r.tensors[1] = "\xff"; });
  expect("tensors must name each tensor once", [](auto&, auto& r) { r.tensors[1] = "input"; });
  expect("exponent_low must be below exponent_high", [](auto&, auto& r) { r.exponent_low = 2; });
  expect("exponent_low must be below exponent_high", [](auto&, auto& r) { r.exponent_low = INT32_MIN; });
  expect("exponent_low must be below exponent_high", [](auto&, auto& r) { r.exponent_high = INT32_MAX; });
  expect("steps must be 1, 2, 4, 8 or 16", [](auto&, auto& r) { r.steps = 0; });
  expect("steps must be 1, 2, 4, 8 or 16", [](auto&, auto& r) { r.steps = 3; });
  expect("steps must be 1, 2, 4, 8 or 16", [](auto&, auto& r) { r.steps = 1u << 31; });
  expect("positions must be in [1, 65536]", [](auto&, auto& r) { r.positions = 0; });
  expect("positions must be in [1, 65536]", [](auto&, auto& r) { r.positions = UINT32_MAX; });
  expect("lane_max must be in [1, 65536]", [](auto& r, auto&) { r.lane_max = 0; });
  expect("lane_max must be in [1, 65536]", [](auto& r, auto&) { r.lane_max = UINT32_MAX; });
  expect("lane_max must be values_max * positions", [](auto&, auto& r) { r.is_normalised = false; });
  expect("at most 262144 bins", [](auto&, auto& r) {
    for (int i = 0; i < 200; ++i) r.tensors.push_back("t" + std::to_string(i));
    r.exponent_low = -24, r.exponent_high = 24, r.steps = 16;
  });
  expect("values_max * tensors at most 1048576", [](auto& r, auto& own) {
    for (int i = 0; i < 20; ++i) own.tensors.push_back("t" + std::to_string(i));
    r.values_max = kAnalyticsValuesMax;
  });
  expect("values_max * positions at most 16777216",
         [](auto& r, auto& own) { own.is_normalised = false, own.positions = kRangePositionsMax, r.values_max = 257; });
  expect("must name the one model", [](auto& r, auto&) { r.evaluation->models.clear(); });
  expect("must name the one model", [](auto& r, auto&) { r.evaluation->models.push_back({Digest{{2}}, 9}); });
  expect("importance must be absent", [](auto& r, auto&) { r.evaluation->importance.emplace(); });
  expect("the model reads all of an example", [](auto& r, auto&) { r.feature = 1; });
  expect("tensors must name the tensors", [](auto& r, auto&) { r.evaluation->ranges.reset(); });
  expect("tensors must be absent",
         [](auto& r, auto&) { r.kind = AnalyticsKind::evaluation, r.lane_max = evaluation_lane_max(r.values_max); });
}

TEST(PlanRanges, AValueIsInTheBinBetweenWhoseBoundsItLies) {
  const RangeRules rules = *ranging().evaluation->ranges;
  ASSERT_EQ(range_bins(rules), 21u);
  EXPECT_EQ(range_bin(rules, 0), 10u);
  EXPECT_EQ(range_bin(rules, -0.0f), 10u);
  EXPECT_EQ(range_bin(rules, .125f), 11u);
  EXPECT_EQ(range_bin(rules, std::nextafter(.125f, 0.0f)), 10u);
  EXPECT_EQ(range_bin(rules, .1875f), 12u) << "half an octave";
  EXPECT_EQ(range_bin(rules, 1e30f), 20u) << "beyond all bins";
  EXPECT_EQ(range_bin(rules, -1e30f), 0u);
  EXPECT_EQ(range_bin(rules, std::numeric_limits<float>::denorm_min()), 10u);
  for (const float none : {NAN, INFINITY, -INFINITY}) EXPECT_EQ(range_bin(rules, none), std::nullopt);
  Prng prng(5);
  for (int i = 0; i < 2000; ++i) {
    const auto value = static_cast<float>(prng.uniform(-3.9, 3.9));
    const std::optional<uint32_t> bin = range_bin(rules, value);
    ASSERT_TRUE(bin);
    const BinBounds bounds = range_bounds(rules, *bin);
    EXPECT_LE(bounds.low, value);
    EXPECT_GE(bounds.high, value);
  }
  for (uint32_t bin = 0; bin + 1 < range_bins(rules); ++bin) {
    EXPECT_EQ(range_bounds(rules, bin).high, range_bounds(rules, bin + 1).low) << bin;
  }
}

TEST(PlanRanges, PositionsAreOneInEachStretch) {
  const RangeRules rules = *ranging().evaluation->ranges;
  for (const uint64_t elements : {1u, 9u, 10u, 11u, 37u, 1000u}) {
    uint64_t before = 0;
    for (uint64_t i = 0; i < range_positions(rules, elements); ++i) {
      const uint64_t at = range_position(rules, i, elements);
      EXPECT_LT(at, elements);
      EXPECT_TRUE(i == 0 || at > before) << elements;
      before = at;
    }
  }
}

// A device whose values are all in one bin, spread over all, or as one against many: no vector is longer than what
// accountants and clips go by, and a server that sees it takes it.
TEST(PlanRanges, NoDeviceMovesATableByMoreThanItsSensitivity) {
  Prng prng(9);
  for (const bool is_normalised : {true, false}) {
    const AnalyticsRules rules = ranging(is_normalised);
    const RangeRules& own = *rules.evaluation->ranges;
    const size_t bins = range_bins(own);
    double longest = 0;
    for (int device = 0; device < 200; ++device) {
      std::vector<float> lanes(lane_count(rules));
      for (size_t tensor = 0; tensor < 2; ++tensor) {
        std::vector<uint64_t> counts(bins);
        uint64_t left = uint64_t{rules.values_max} * own.positions;
        if (device == 0) counts[3] = left, left = 0;
        if (device == 1) left = 0;  // no example
        const uint64_t among = 1 + prng.below(bins);
        while (left > 0) {
          const uint64_t some = 1 + prng.below(left);
          counts[prng.below(among)] += some;
          left -= some;
        }
        put_range(own, rules.lane_max, counts, std::span(lanes).subspan(tensor * bins, bins));
      }
      double squares = 0;
      for (const float lane : lanes) squares += static_cast<double>(lane) * static_cast<double>(lane);
      longest = std::max(longest, std::sqrt(squares));
      EXPECT_OK(check_lanes(rules, lanes));
    }
    EXPECT_LE(longest, static_cast<double>(clip_of(rules)));
    EXPECT_DOUBLE_EQ(longest, l2_sensitivity(rules)) << "all in one bin is the longest";
  }
}

TEST(PlanRanges, WhatNoDeviceMaySayIsRefused) {
  for (const bool is_normalised : {true, false}) {
    const AnalyticsRules rules = ranging(is_normalised);
    std::vector<float> lanes(lane_count(rules));
    const auto most = static_cast<float>(rules.lane_max);
    lanes[30] = most;
    EXPECT_OK(check_lanes(rules, lanes));
    lanes[31] = is_normalised ? 16.0f : 1.0f;
    EXPECT_ERROR(check_lanes(rules, lanes), ErrorCode::malformed, "so much of tensor number 2");
    for (const float wrong : {-1.0f, .5f, most + 1, NAN, INFINITY}) {
      std::vector<float> other(lanes.size());
      other[3] = wrong;
      EXPECT_ERROR(check_lanes(rules, other), ErrorCode::malformed, "a lane of") << wrong;
    }
  }
}

// What only a hostile server writes.
TEST(PlanRanges, RefusesTablesThatAreNotOfOneForm) {
  const auto parsed = [](const std::function<flatbuffers::Offset<wire::ActivationRanges>(
                             flatbuffers::FlatBufferBuilder&, flatbuffers::Offset<wire::Evaluation>)>& make,
                         bool has_evaluation) {
    flatbuffers::FlatBufferBuilder builder;
    const auto evaluation = wire::CreateEvaluation(builder, 0, 2);
    const auto ranges = make(builder, evaluation);
    wire::AnalyticsBuilder analytics(builder);
    analytics.add_kind(5);
    if (has_evaluation) analytics.add_evaluation(evaluation);
    analytics.add_ranges(ranges);
    builder.Finish(analytics.Finish());
    return flat::parse(*flatbuffers::GetRoot<wire::Analytics>(builder.GetBufferPointer()));
  };
  EXPECT_ERROR(parsed([](auto& b, auto e) { return wire::CreateActivationRanges(b, e); }, true), ErrorCode::malformed,
               "must not be beside an evaluation");
  EXPECT_ERROR(parsed([](auto& b, auto) { return wire::CreateActivationRanges(b); }, false), ErrorCode::malformed,
               "must have an evaluation");
  const auto many = [](auto& b, auto e) {
    return wire::CreateActivationRanges(b, e, b.CreateVectorOfStrings(std::vector<std::string>(257, "x")));
  };
  EXPECT_ERROR(parsed(many, false), ErrorCode::malformed, "too many names");
  const auto longer = [](auto& b, auto e) {
    return wire::CreateActivationRanges(b, e, b.CreateVectorOfStrings(std::vector<std::string>{std::string(300, 'x')}));
  };
  EXPECT_ERROR(parsed(longer, false), ErrorCode::malformed, "tensors");
}

}  // namespace
}  // namespace coterie
